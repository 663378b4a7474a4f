// @ts-check
/** One workflow: what it does, its runs, its file, and trying it on past events. */

import { html, repeat } from "../vendor/lit.js";
import { Ticking, asError } from "./element.js";
import { ago, clock, day, eventWords, runState, tally, wouldHave } from "./format.js";
import { runs, runsOf, tryWorkflow, workflow } from "./host.js";
import { Loaded, empty } from "./loading.js";
import { besideWords, explained, modePill, runLink, statePill } from "./parts.js";
import { address } from "./router.js";
import { session } from "./session.js";
import "./go_live.js";

class Workflow extends Ticking {
  static properties = { workflow: {}, _tried: { state: true }, _error: { state: true }, _busy: { state: true } };

  constructor() {
    super();
    this.workflow = "";
    /** @type {import("./rows.js").Tried[] | null} */
    this._tried = null;
    /** @type {Error | null} */
    this._error = null;
    this._busy = false;
    this._whole = new Loaded(this, () => workflow(this.workflow), ["workflow.", "attention"]);
    this._runs = new Loaded(this, () => runsOf(this.workflow), ["run."]);
  }

  async _try() {
    this._busy = true;
    this._error = null;
    try {
      this._tried = (await tryWorkflow(this.workflow, 20)).rows;
    } catch (error) {
      this._error = asError(error);
    } finally {
      this._busy = false;
    }
  }

  render() {
    return html`<p class="sw-crumb"><a href=${address("workflows")}>Workflows</a></p>
      ${this._whole.view(
        (w) =>
          html` <h1 tabindex="-1" dir="auto">
              ${w.name} <span class="sw-pill is-${w.state}">${{ on: "On", test: "Test", off: "Off" }[w.state]}</span>
            </h1>
            ${w.on_version === null ? "" : this._beside(w, w.on_version)}
            ${w.attention ? html`<p class="sw-note is-bad"><strong>Needs attention.</strong> ${w.attention}</p>` : ""}
            ${
              w.judged.explain
                ? html`<details class="sw-card" open>
                    <summary>What it does</summary>
                    ${explained(w.judged.explain.text)}
                  </details>`
                : ""
            }
            ${file(w.version, w.on_version === null ? "" : ", in Test", w.text)}
            ${w.on_version === null || w.on_text === null ? "" : file(w.on_version, ", which is On", w.on_text)}`,
      )}
      <sw-go-live @siteward-turned-on=${() => this._whole.reload()}></sw-go-live>
      <h2>Try it</h2>
      ${this._trying()}
      <h2>Runs</h2>
      ${this._runs.view((value) => ownRuns(value.runs))}`;
  }

  /** @param {import("./rows.js").WholeWorkflow} w @param {number} on */
  _beside(w, on) {
    return html`<div class="sw-note sw-beside">
      <p><strong>${besideWords(w)}</strong></p>
      <p>
        What starts it makes two runs: version ${on} acts, and version ${w.version} says what it would have done.
        Compare them below, then choose.
      </p>
      <button class="sw-button is-main" ?disabled=${!session.may("workflows.manage")} @click=${() => this._turnOn(w)}>
        Turn version ${w.version} On
      </button>
    </div>`;
  }

  /** @param {import("./rows.js").WholeWorkflow} w */
  _turnOn(w) {
    /** @type {import("./go_live.js").GoLive} */ (this.querySelector("sw-go-live")).ask(w);
  }

  _trying() {
    return html`<p class="sw-soft">
        Decides the newest 20 events of its cameras once more, on their stored pictures. Nobody is asked and nothing is
        done. It may take a minute.
      </p>
      <button class="sw-button" ?disabled=${this._busy || !session.may("workflows.manage")} @click=${this._try}>
        ${this._busy ? "Trying…" : "Try on the last 20 events"}
      </button>
      ${this._error ? html`<p class="sw-note is-bad" role="alert">${this._error.message}</p>` : ""}
      ${this._tried === null ? "" : tried(this._tried)}`;
  }
}

/** A version's file. @param {number} version @param {string} which @param {string} text */
function file(version, which, text) {
  return html`<details class="sw-card">
    <summary>Its file, version ${version}${which}</summary>
    <pre class="sw-file" tabindex="0" dir="ltr">${text}</pre>
  </details>`;
}

/** @param {import("./rows.js").Tried[]} rows */
function tried(rows) {
  if (rows.length === 0) return empty("No events to try on", "None of the kept events would start this workflow.");
  return html`<p class="sw-tally" role="status">
      ${tally(rows.map((row) => row.decision)).map(([decision, count]) => html`<span><strong>${count}</strong> <bdi>${decision}</bdi></span>`)}
    </p>
    <div class="sw-scroll" tabindex="0" role="region" aria-label="What the past events led to">
      <table class="sw-table">
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Decision</th>
            <th scope="col">Would have</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(triedRow)}
        </tbody>
      </table>
    </div>`;
}

/** @param {import("./rows.js").Tried} row */
function triedRow(row) {
  const reason = row.reason ?? null;
  const would = wouldHave(row.would_have ?? [], reason);
  return html`<tr>
    <td>
      ${row.run ? runLink(row.run, eventWords(row.type)) : eventWords(row.type)}<br /><span class="sw-soft"
        >${day(row.at)}, ${clock(row.at)}</span
      >
    </td>
    <td>
      <strong><bdi>${row.decision ?? runState(row.state)}</bdi></strong
      >${row.decision && row.state !== "done" ? html` (${runState(row.state)})` : ""}
      ${reason ? html`<div class="sw-soft sw-short" dir="auto" title=${reason}>The model says: ${reason}</div>` : ""}
    </td>
    <td>
      ${would.acts.map((line) => html`<div dir="auto"><strong>${line}</strong></div>`)}
      ${would.asks.map((line) => html`<div class="sw-short" dir="auto">asked: “${line}”</div>`)}
      ${would.acts.length + would.asks.length + would.logs.length === 0 ? "nothing" : ""}
      ${
        would.logs.length
          ? html`<details class="sw-more">
              <summary>${would.logs.length === 1 ? "1 line" : `${would.logs.length} lines`} to the log</summary>
              ${would.logs.map((line) => html`<div class="sw-soft" dir="auto">${line}</div>`)}
            </details>`
          : ""
      }
    </td>
  </tr>`;
}

/** The runs of a workflow; what was only tried stands apart. @param {import("./rows.js").ListedRun[]} runs */
function ownRuns(runs) {
  const tries = runs.filter((run) => run.mode === "try");
  return html`${runList(runs.filter((run) => run.mode !== "try"))}
  ${
    tries.length
      ? html`<details class="sw-earlier">
          <summary>Runs of tries (${tries.length})</summary>
          ${runList(tries)}
        </details>`
      : ""
  }`;
}

/** @param {import("./rows.js").ListedRun[]} runs */
export function runList(runs) {
  if (runs.length === 0) return empty("No runs yet", "They appear here as events come in.");
  return html`<ul class="sw-list">
    ${repeat(
      runs,
      (run) => run.id,
      (run) =>
        html`<li class="sw-card sw-run-row">
          ${statePill(run.state)}
          ${runLink(run.id, html`<bdi>${run.workflow}</bdi>${run.outcome ? html`: <bdi>${run.outcome}</bdi>` : ""}`)}
          ${modePill(run.mode)}
          <span class="sw-soft"
            >version ${run.version},
            ${run.event.camera ? html`<bdi>${run.event.camera}</bdi>, ` : ""}${ago(run.started_at, Date.now())}</span
          >
        </li>`,
    )}
  </ul>`;
}

class Runs extends Ticking {
  constructor() {
    super();
    this._runs = new Loaded(this, runs, ["run."]);
  }

  render() {
    return html`<h1 tabindex="-1">Runs</h1>
      ${this._runs.view((value) => runList(value.runs))}`;
  }
}
customElements.define("sw-workflow", Workflow);
customElements.define("sw-runs", Runs);
