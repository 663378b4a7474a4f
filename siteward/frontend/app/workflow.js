// @ts-check
/** One workflow: what it does, its runs, its file, and trying it on past events. */

import { html, repeat } from "../vendor/lit.js";
import { get, post } from "./api.js";
import { Ticking } from "./element.js";
import { ago, clock, day, eventWords, runState } from "./format.js";
import { Loaded, empty } from "./loading.js";
import { explained, modePill, runLink, statePill } from "./parts.js";
import { session } from "./session.js";

class Workflow extends Ticking {
  static properties = { workflow: {}, _tried: { state: true }, _error: { state: true }, _busy: { state: true } };

  constructor() {
    super();
    this.workflow = "";
    /** @type {any[] | null} */
    this._tried = null;
    /** @type {Error | null} */
    this._error = null;
    this._busy = false;
    this._whole = new Loaded(this, () => get(`/workflows/${encodeURIComponent(this.workflow)}`), ["workflow.", "attention"]);
    this._runs = new Loaded(this, () => get(`/workflows/${encodeURIComponent(this.workflow)}/runs?limit=50`), ["run."]);
  }

  async _try() {
    this._busy = true;
    this._error = null;
    try {
      this._tried = (await post(`/workflows/${this.workflow}/try`, { last: 20 }, 305)).rows;
    } catch (error) {
      this._error = /** @type {Error} */ (error);
    } finally {
      this._busy = false;
    }
  }

  render() {
    return html`${this._whole.view((w) => html`
      <h1 tabindex="-1" dir="auto">${w.name} <span class="sw-pill is-${w.state}">${{ on: "On", test: "Test", off: "Off" }[/** @type {"on"} */ (w.state)]}</span></h1>
      ${w.attention ? html`<p class="sw-note is-bad"><strong>Needs attention.</strong> ${w.attention}</p>` : ""}
      ${w.judged.explain ? html`<details class="sw-card"><summary>What it does</summary>${explained(w.judged.explain.text)}</details>` : ""}
      <details class="sw-card"><summary>Its file, version ${w.version}</summary><pre class="sw-file" tabindex="0" dir="ltr">${w.text}</pre></details>`)}
      <h2>Try it</h2>${this._trying()}
      <h2>Runs</h2>${this._runs.view((value) => runList(value.runs))}`;
  }

  _trying() {
    return html`<p class="sw-soft">Decides the newest 20 events of its cameras on their stored pictures. Nothing is done.</p>
      <button class="sw-button" ?disabled=${this._busy || !session.may("workflows.manage")} @click=${this._try}>${this._busy ? "Trying…" : "Try on the last 20 events"}</button>
      ${this._error ? html`<p class="sw-note is-bad" role="alert">${this._error.message}</p>` : ""}
      ${this._tried === null ? "" : tried(this._tried)}`;
  }
}

/** @param {any[]} rows */
function tried(rows) {
  if (rows.length === 0) return empty("No events to try on", "None of the kept events would start this workflow.");
  return html`<div class="sw-scroll" tabindex="0"><table class="sw-table"><thead><tr><th>Event</th><th>State</th><th>Decision</th><th>Would have</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr><td>${row.run ? runLink(row.run, eventWords(row.type)) : eventWords(row.type)}<br><span class="sw-soft">${day(row.at)}, ${clock(row.at)}</span></td><td>${runState(row.state)}</td><td dir="auto">${row.decision ?? ""}${row.reason ? html`<br><span class="sw-soft">The model says: ${row.reason}</span>` : ""}</td><td dir="auto">${(row.would_have ?? []).length ? row.would_have.map((/** @type {string} */ line) => html`<div>${line}</div>`) : "nothing"}</td></tr>`)}</tbody></table></div>`;
}

/** @param {any[]} runs */
export function runList(runs) {
  if (runs.length === 0) return empty("No runs yet", "They appear here as events come in.");
  return html`<ul class="sw-list">${repeat(runs, (run) => run.id, (run) => html`<li class="sw-card sw-run-row">
    ${statePill(run.state)} ${runLink(run.id, html`<bdi>${run.workflow}</bdi>${run.outcome ? html`: <bdi>${run.outcome}</bdi>` : ""}`)} ${modePill(run.mode)}
    <span class="sw-soft">${run.event.camera ? html`<bdi>${run.event.camera}</bdi>, ` : ""}${ago(run.started_at, Date.now())}</span></li>`)}</ul>`;
}

class Runs extends Ticking {
  constructor() {
    super();
    this._runs = new Loaded(this, () => get("/runs?limit=50"), ["run."]);
  }

  render() {
    return html`<h1 tabindex="-1">Runs</h1>${this._runs.view((value) => runList(value.runs))}`;
  }
}
customElements.define("sw-workflow", Workflow);
customElements.define("sw-runs", Runs);
