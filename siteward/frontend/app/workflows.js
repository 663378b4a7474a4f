// @ts-check
/** The list of workflows: what each is set to, what it did last, and the switch between Off, Test and On. */

import { html, repeat } from "../vendor/lit.js";
import { get, post } from "./api.js";
import { Ticking, toast } from "./element.js";
import { ago } from "./format.js";
import { Loaded, empty } from "./loading.js";
import { icon, runLink, statePill } from "./parts.js";
import { address } from "./router.js";
import { session } from "./session.js";
import "./go_live.js";

const STATES = [
  ["off", "Off"],
  ["test", "Test"],
  ["on", "On"],
];

class Workflows extends Ticking {
  constructor() {
    super();
    this._list = new Loaded(this, () => get("/workflows"), ["run.", "workflow.", "approval.", "attention"]);
  }

  /** @param {any} workflow @param {string} state */
  async _set(workflow, state) {
    if (state === workflow.state) return;
    if (state === "on") {
      /** @type {any} */ (this.querySelector("sw-go-live")).ask(workflow);
      return;
    }
    try {
      await post(`/workflows/${workflow.id}/state`, { state, base_version: workflow.version });
      toast(`${workflow.name} is ${state === "off" ? "off" : "in Test"}.`);
    } catch (error) {
      toast(/** @type {Error} */ (error).message, "bad");
    }
    await this._list.reload();
  }

  render() {
    return html`<h1 tabindex="-1">Workflows</h1>
      ${this._list.view((value) => this._all(value.workflows))}
      <sw-go-live @siteward-turned-on=${() => this._list.reload()}></sw-go-live>`;
  }

  /** @param {any[]} workflows */
  _all(workflows) {
    if (workflows.length === 0) return empty("No workflows yet", html`Import one with <code>siteward workflow import FILE</code>.`);
    return html`<ul class="sw-list">${repeat(workflows, (w) => w.id, (w) => this._one(w))}</ul>`;
  }

  /** @param {any} w */
  _one(w) {
    return html`<li class="sw-card sw-workflow">
      <div class="sw-workflow-main">
        <h2><a href=${address("workflows", w.id)} dir="auto">${w.name}</a></h2>
        <p class="sw-soft">${this._facts(w)}</p>
        ${w.attention ? html`<p class="sw-note is-bad" dir="auto"><strong>Needs attention.</strong> ${w.attention}</p>` : ""}
        ${w.asks ? html`<p><a class="sw-asks" href=${address("inbox")}>${icon("inbox")} ${w.asks === 1 ? "A question waits" : `${w.asks} questions wait`}</a></p>` : ""}
      </div>
      ${this._switch(w)}
    </li>`;
  }

  /** @param {any} w */
  _facts(w) {
    const today = w.runs_today === 1 ? "1 run today" : `${w.runs_today} runs today`;
    if (w.last_run === null) return html`Has not run yet`;
    const { id, state, outcome, started_at: at } = w.last_run;
    return html`${statePill(state)} ${runLink(id, html`${outcome ? html`<bdi>${outcome}</bdi>, ` : ""}${ago(at, Date.now())}`)} <span class="sw-dot">·</span> ${today}`;
  }

  /** @param {any} w */
  _switch(w) {
    const may = session.may("workflows.manage");
    return html`<div class="sw-switch" role="group" aria-label="State of ${w.name}">
      ${STATES.map(([state, word]) => html`<button class="is-${state}" aria-pressed=${String(w.state === state)} ?disabled=${!may} @click=${() => this._set(w, state)}>${word}</button>`)}
    </div>`;
  }
}
customElements.define("sw-workflows", Workflows);
