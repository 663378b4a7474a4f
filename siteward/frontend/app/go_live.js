// @ts-check
/** The dialog before a workflow is turned on: what it would do and move, said before it may. */

import { html } from "../vendor/lit.js";
import { Page, asError, toast } from "./element.js";
import { moveWords } from "./format.js";
import { setState, workflow as read } from "./host.js";
import { explained } from "./parts.js";
import { session } from "./session.js";

export class GoLive extends Page {
  static properties = { _whole: { state: true }, _error: { state: true }, _busy: { state: true } };

  constructor() {
    super();
    /** @type {import("./rows.js").WholeWorkflow | null} */
    this._whole = null;
    /** @type {Error | null} */
    this._error = null;
    this._busy = false;
  }

  get _dialog() {
    return /** @type {HTMLDialogElement} */ (this.querySelector("dialog"));
  }

  /** @param {{id: string}} workflow */
  async ask(workflow) {
    this._whole = null;
    this._error = null;
    this._dialog.showModal();
    try {
      this._whole = await read(workflow.id);
    } catch (error) {
      this._error = asError(error);
    }
  }

  async _turnOn() {
    const workflow = this._whole;
    if (workflow === null) return;
    this._busy = true;
    try {
      await setState(workflow, "on");
      toast(`${this._named(workflow)} is on: from now on it acts.`);
      this._dialog.close();
      this.dispatchEvent(new CustomEvent("siteward-turned-on"));
    } catch (error) {
      this._error = asError(error);
    } finally {
      this._busy = false;
    }
  }

  render() {
    return html`<dialog class="sw-dialog" aria-labelledby="go-live-title">
      <h2 id="go-live-title" dir="auto">${this._whole ? `Turn on ${this._named(this._whole)}?` : "Turn on?"}</h2>
      ${this._whole ? this._what(this._whole) : this._error ? "" : html`<p role="status">Loading…</p>`}
      ${this._error ? html`<p class="sw-note is-bad" role="alert">${this._error.message}</p>` : ""}
      <div class="sw-actions">
        <button class="sw-button" @click=${() => this._dialog.close()}>Cancel</button>
        <button class="sw-button is-main" ?disabled=${!this._may()} @click=${this._turnOn}>Turn on</button>
      </div>
    </dialog>`;
  }

  /** @param {import("./rows.js").WholeWorkflow} w */
  _named(w) {
    return w.on_version === null ? `“${w.name}”` : `version ${w.version} of “${w.name}”`;
  }

  _may() {
    if (this._whole === null || this._busy || !this._whole.judged.ok) return false;
    return !this._whole.judged.needs_admin || session.may("site.admin");
  }

  /** @param {import("./rows.js").WholeWorkflow} whole */
  _what(whole) {
    const { judged } = whole;
    return html` ${judged.needs_admin && !session.may("site.admin") ? html`<p class="sw-note is-bad">It moves things or reads faces or plates, so only an admin turns it on.</p>` : ""}
    ${
      judged.ok
        ? ""
        : html`<div class="sw-note is-bad">
            <p>It has errors and cannot be turned on:</p>
            <ul>
              ${judged.problems.map((p) => html`<li>Line ${p.line}: ${p.message}</li>`)}
            </ul>
          </div>`
    }
    ${
      judged.explain
        ? html`<p>
              On means that it really acts each time it starts. You can set it back to Test or Off at any moment.
              ${whole.on_version === null ? "" : `It takes the place of version ${whole.on_version}; runs under way finish as they began.`}
            </p>
            <div class="sw-moves ${judged.explain.moves.length ? "" : "is-none"}">
              <h3>${judged.explain.moves.length ? "It can move" : "It moves nothing"}</h3>
              <ul>
                ${judged.explain.moves.map((move) => html`<li dir="auto">${moveWords(move)}</li>`)}
              </ul>
            </div>
            <details open>
              <summary>What it does</summary>
              ${explained(judged.explain.text)}
            </details>`
        : ""
    }`;
  }
}
customElements.define("sw-go-live", GoLive);
