// @ts-check
/** The list of workflows: what each is set to, what it did last, and the switch between Off, Test and On. */

import { html, repeat } from "../vendor/lit.js";
import { Ticking, complain, toast } from "./element.js";
import { ago } from "./format.js";
import { setState, workflows } from "./host.js";
import { Loaded, empty } from "./loading.js";
import { besideWords, icon, runLink, statePill } from "./parts.js";
import { address } from "./router.js";
import { session } from "./session.js";
import "./go_live.js";

/** @typedef {import("./rows.js").ListedWorkflow} Listed */

/** @type {readonly (readonly [import("./rows.js").WorkflowState, string])[]} */
const STATES = [
  ["off", "Off"],
  ["test", "Test"],
  ["on", "On"],
];

class Workflows extends Ticking {
  constructor() {
    super();
    this._list = new Loaded(this, workflows, ["run.", "workflow.", "approval.", "attention"]);
  }

  /** @param {Listed} workflow @param {import("./rows.js").WorkflowState} state */
  async _set(workflow, state) {
    if (state === workflow.state) return;
    if (state === "on") {
      /** @type {import("./go_live.js").GoLive} */ (this.querySelector("sw-go-live")).ask(workflow);
      return;
    }
    try {
      await setState(workflow, state);
      toast(
        `${workflow.name} is ${state === "off" ? "off: it no longer starts" : "in Test: it decides and does nothing"}.`,
      );
    } catch (error) {
      complain(error);
    }
    await this._list.reload();
  }

  render() {
    return html`<h1 tabindex="-1">Workflows</h1>
      ${this._list.view((value) => this._all(value.workflows))}
      <sw-go-live @siteward-turned-on=${() => this._list.reload()}></sw-go-live>`;
  }

  /** @param {Listed[]} workflows */
  _all(workflows) {
    if (workflows.length === 0) {
      return empty("No workflows yet", html`Import one with <code>siteward workflow import FILE</code>.`);
    }
    return html`${session.me?.demo && session.may("workflows.manage") ? story(workflows) : ""}
      <p class="sw-soft sw-legend">
        <strong>Off</strong>: does not start. <strong>Test</strong>: decides, asks nobody and moves nothing; its runs
        show what it would have done. <strong>On</strong>: acts.
      </p>
      <ul class="sw-list">
        ${repeat(
          workflows,
          (w) => w.id,
          (w) => this._one(w),
        )}
      </ul>`;
  }

  /** @param {Listed} w */
  _one(w) {
    return html`<li class="sw-card sw-workflow">
      <div class="sw-workflow-main">
        <h2><a href=${address("workflows", w.id)} dir="auto">${w.name}</a></h2>
        <p class="sw-soft">${this._facts(w)}</p>
        ${w.on_version === null ? "" : html`<p class="sw-soft">${besideWords(w)} <a href=${address("workflows", w.id)}>Compare and choose</a></p>`}
        ${w.attention ? html`<p class="sw-note is-bad" dir="auto"><strong>Needs attention.</strong> ${w.attention}</p>` : ""}
        ${w.asks ? html`<p><a class="sw-asks" href=${address("inbox")}>${icon("inbox")} ${w.asks === 1 ? "A question waits" : `${w.asks} questions wait`}</a></p>` : ""}
      </div>
      ${this._switch(w)}
    </li>`;
  }

  /** @param {Listed} w */
  _facts(w) {
    const today = w.runs_today === 1 ? "1 run today" : `${w.runs_today} runs today`;
    if (w.last_run === null) return html`Has not run yet`;
    const { id, state, outcome, started_at: at } = w.last_run;
    return html`${statePill(state)}
      ${runLink(id, html`${outcome ? html`<bdi>${outcome}</bdi>, ` : ""}${ago(at, Date.now())}`)}
      <span class="sw-dot">·</span> ${today}`;
  }

  /** @param {Listed} w */
  _switch(w) {
    const may = session.may("workflows.manage");
    return html`<div class="sw-switch" role="group" aria-label="State of ${w.name}">
      ${STATES.map(([state, word]) => html`<button class="is-${state}" aria-pressed=${String(w.state === state)} ?disabled=${!may} @click=${() => this._set(w, state)}>${word}</button>`)}
    </div>`;
  }
}

/** What a newcomer does to see the demo's main job. It folds away once a workflow that is on has run. @param {Listed[]} workflows */
function story(workflows) {
  const on = workflows.some((w) => w.state === "on");
  const ran = workflows.some((w) => w.state === "on" && w.last_run !== null);
  return html`<details class="sw-card sw-story" ?open=${!ran}>
    <summary>How to see this demo at work</summary>
    <ol>
      <li class=${on ? "is-over" : ""}>
        Turn the workflow below <strong>On</strong>. First you are told what it can move.
      </li>
      <li class=${ran ? "is-over" : ""}>
        Press <strong>Play next vehicle</strong> above: a vehicle comes to the gate, and AI looks at the picture.
      </li>
      <li>
        Answer the question in the <a href=${address("inbox")}>Inbox</a>. AI never opens the gate: your reply does.
      </li>
      <li>
        See the gate under <a href=${address("gates")}>Gates</a>, and every step with its reason under
        <a href=${address("runs")}>Runs</a>.
      </li>
    </ol>
  </details>`;
}
customElements.define("sw-workflows", Workflows);
