// @ts-check
/** One run as it was recorded: what started it, each step with its time and result, what the model said apart from what the host knows. */

import { html, repeat } from "../vendor/lit.js";
import { Ticking, complain } from "./element.js";
import {
  clock,
  confidence,
  confidenceMeans,
  day,
  eventWords,
  gateWords,
  moveWords,
  nameWords,
  plain,
  ruleWords,
  span,
  stepKind,
  stepState,
  tone,
  whoWords,
} from "./format.js";
import { cancelRun, run as read } from "./host.js";
import { Loaded } from "./loading.js";
import { attributed, icon, kindIcon, modePill, modelSays, shot, statePill } from "./parts.js";
import { address } from "./router.js";
import { session } from "./session.js";

/** @typedef {import("./rows.js").Step} Step */
/** @typedef {import("./rows.js").WholeRun} WholeRun */

const ALIVE = ["running", "waiting"];

class Run extends Ticking {
  static properties = { run: {} };

  constructor() {
    super();
    this.run = "";
    this._whole = new Loaded(this, () => read(this.run), ["run.", "approval."]);
  }

  async _cancel() {
    try {
      await cancelRun(this.run);
    } catch (error) {
      complain(error);
    }
    await this._whole.reload();
  }

  render() {
    return this._whole.view(
      (run) =>
        html` <p class="sw-crumb">
            <a href=${address("workflows", run.workflow_id)}><bdi>${run.workflow}</bdi></a>
          </p>
          <h1 tabindex="-1">
            Run of ${day(run.started_at)}, ${clock(run.started_at)} ${statePill(run.state)} ${modePill(run.mode)}
          </h1>
          ${run.state_reason ? html`<p class="sw-note ${tone(run.state) === "bad" ? "is-bad" : ""}" dir="auto">${run.state_reason}</p>` : ""}
          ${run.seen_again ? html`<p class="sw-soft">Seen again ${run.seen_again} times while it ran.</p>` : ""}
          ${ALIVE.includes(run.state) && session.may("workflows.manage") ? html`<button class="sw-button" @click=${this._cancel}>End this run</button>` : ""}
          <ol class="sw-timeline">
            ${this._event(run.event)}
            ${repeat(
              run.steps,
              (step) => step.path,
              (step) => this._step(step, run),
            )}
            ${
              run.ended_at
                ? html`<li class="sw-moment is-end">
                    <span class="sw-time">${clock(run.ended_at)}</span
                    ><span class="sw-mark is-${tone(run.state)}"></span>
                    <div><p>${statePill(run.state)} after ${span(seconds(run.started_at, run.ended_at))}</p></div>
                  </li>`
                : ""
            }
          </ol>`,
    );
  }

  /** @param {WholeRun["event"]} event */
  _event(event) {
    const facts = Object.entries(event.payload ?? {});
    return html`<li class="sw-moment">
      <span class="sw-time">${clock(event.at)}</span><span class="sw-mark">${icon("event")}</span>
      <div class="sw-step">
        <h2>${eventWords(event.type)}</h2>
        <p class="sw-soft">${event.camera ? html`Camera <bdi>${event.camera}</bdi>, ` : ""}from ${event.source}</p>
        ${facts.length ? facts_(facts) : ""} ${shot(event.picture, "The picture of the event")}
      </div>
    </li>`;
  }

  /** @param {Step} step @param {WholeRun} run */
  _step(step, run) {
    const depth = Math.min(4, (step.path.match(/\//g) ?? []).length);
    const asked = run.approvals.find((approval) => approval.path === step.path);
    return html`<li class="sw-moment is-depth-${depth}">
      <span class="sw-time">${clock(step.started_at)}</span
      ><span class="sw-mark is-${tone(step.status)}">${kindIcon(step.kind)}</span>
      <div class="sw-step">
        <h2>
          ${step.name ? html`<bdi>${step.name}</bdi>` : stepKind(step.kind)}
          ${step.outcome ? html`<span class="sw-lane"><bdi>${step.outcome}</bdi></span>` : ""}
          ${step.status === "done" ? "" : html`<span class="sw-pill is-${tone(step.status)}">${stepState(step.status)}</span>`}
        </h2>
        ${step.model ? this._model(step.model, step.inputs.rules?.value) : ""}
        ${step.kind === "ask_person" && asked ? question(asked) : ""}
        ${step.kind === "ask_person" && resultOf(step).would_have_asked ? rehearsed(resultOf(step)) : ""}
        ${step.kind === "ai" || step.kind === "ask_person" ? "" : said(step, run)}
        ${step.pictures.filter((id) => id !== run.event.picture).map((id) => shot(id, "A picture that the step looked at"))}
        <details class="sw-more">
          <summary>Details</summary>
          ${details(step)}
        </details>
      </div>
    </li>`;
  }

  /** @param {import("./rows.js").Said} model @param {unknown} rules */
  _model(model, rules) {
    const who = [model.model, confidence(model)].filter(Boolean).join(", ");
    return html`${model.reason ? modelSays(model.reason, who) : html`<p class="sw-soft">${who}</p>`}
    ${model.unsure_reason ? html`<p class="sw-soft">Unsure: ${plain(model.unsure_reason).replaceAll("_", " ")}</p>` : ""}
    ${model.rule === null ? "" : html`<p class="sw-soft">Decided by rule ${model.rule + 1} of the step${ruleWords(rules, model.rule)}.</p>`}`;
  }
}

/** @param {import("./rows.js").Approval} asked */
function question(asked) {
  return html`<p dir="auto">${attributed(asked.message, asked.shown).words}</p>
    <p class="sw-soft">Asked: ${asked.who.map(whoWords).join(", ")}. ${answered(asked)}</p>`;
}

/** @param {import("./rows.js").Approval} asked */
function answered(asked) {
  if (asked.state === "open") return html`<a href=${address("inbox")}>Waiting for an answer.</a>`;
  if (asked.state === "no_answer") return "Nobody answered in time.";
  if (asked.state !== "answered") return "No longer asked.";
  const who = html`<bdi>${whoWords(asked.answered_by ?? "")}</bdi>`;
  const took = span(seconds(asked.asked_at, asked.answered_at ?? asked.asked_at));
  return html`<strong>${who} answered “<bdi>${asked.reply}</bdi>”</strong> after ${took}.`;
}

/** A question that a Test run did not put, and what each reply would have done. @param {import("./rows.js").StepResult} result */
function rehearsed(result) {
  return html`<p dir="auto">Would have asked: ${result.would_have_asked}</p>
    <ul class="sw-soft">
      ${(result.replies ?? []).map((r) => html`<li><bdi>${r.reply}</bdi>: ${r.moves?.length ? r.moves.map(moveWords).join(", ") : "moves nothing"}</li>`)}
    </ul>`;
}

/** @param {Step} step @returns {import("./rows.js").StepResult} */
const resultOf = (step) => (step.result !== null && typeof step.result === "object" ? step.result : {});

/** What a step did, in a line; a model's words in it are marked. @param {Step} step @param {WholeRun} run */
function said(step, run) {
  const { message, title, gate, mode } = step.inputs;
  const told = message ?? title ?? gate ?? mode;
  const became = happened(step);
  if (told === undefined && became === "") return "";
  const words = told === undefined ? "" : told.from === "ai" ? modelWords(plain(told.value), run) : plain(told.value);
  return html`<p dir="auto">${words} ${became ? html` <span class="sw-soft">${became}</span>` : ""}</p>`;
}

/** A text that a model had a part in: what models said in this run is marked, or all of it where that is not found. @param {string} text @param {WholeRun} run */
function modelWords(text, run) {
  const heard = run.steps.filter((step) => step.model !== null).flatMap((step) => [step.model?.reason, step.outcome]);
  const shown = Object.fromEntries(heard.map((value, index) => [index, { value: value ?? "", from: "ai" }]));
  const { words, marks } = attributed(text, shown);
  return marks ? words : html`<mark class="sw-said">${text}</mark>`;
}

/** What came of a step, as words. @param {Step} step */
function happened(step) {
  const result = resultOf(step);
  if (step.result !== null && typeof step.result !== "object") return plain(step.result);
  const { state, before, dry_run: dry } = result.result ?? {};
  if (state !== undefined) return gateWords(before ?? "unknown", state, dry ?? false);
  const words = result.error ?? result.would_have;
  return words === undefined ? "" : plain(words);
}

/** @param {Step} step */
function details(step) {
  const inputs = Object.entries(step.inputs);
  return html`<dl class="sw-facts">
    <dt>Place</dt>
    <dd><code>${step.path}</code></dd>
    <dt>Took</dt>
    <dd>
      ${step.ended_at ? span(seconds(step.started_at, step.ended_at)) : "not over"}${step.attempts > 1 ? `, ${step.attempts} attempts` : ""}
    </dd>
    ${inputs.map(
      ([name, given]) =>
        html`<dt>${nameWords(name)}</dt>
          <dd dir="auto">${plain(given.value)} ${from_(given.from)}</dd>`,
    )}
    ${
      step.model
        ? html`<dt>confidence</dt>
            <dd>${confidenceMeans(step.model.confidence === null ? null : step.model.confidence_source)}</dd>`
        : ""
    }
    ${
      step.result === null
        ? ""
        : html`<dt>Result</dt>
            <dd dir="auto">${plain(step.result)}</dd>`
    }
  </dl>`;
}

/** @param {string} from */
const from_ = (from) =>
  from === "literal" ? "" : html`<span class="sw-from is-${from}">${from === "ai" ? "from the model" : from}</span>`;

/** @param {[string, unknown][]} facts */
const facts_ = (facts) =>
  html`<dl class="sw-facts">
    ${facts.map(
      ([name, value]) =>
        html`<dt>${nameWords(name)}</dt>
          <dd dir="auto">${plain(value)}</dd>`,
    )}
  </dl>`;

/** @param {string} from @param {string} to */
const seconds = (from, to) => (Date.parse(to) - Date.parse(from)) / 1000;

customElements.define("sw-run", Run);
