// @ts-check
/** Setting up with the one-time code, and logging in. */

import { html } from "../vendor/lit.js";
import { Page, asError } from "./element.js";
import { enter } from "./host.js";
import { here } from "./router.js";
import { session } from "./session.js";

class Enter extends Page {
  static properties = { setup: { type: Boolean }, _error: { state: true }, _busy: { state: true } };

  constructor() {
    super();
    this.setup = false;
    /** @type {Error | null} */
    this._error = null;
    this._busy = false;
  }

  /** @param {SubmitEvent} event */
  async _enter(event) {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(/** @type {HTMLFormElement} */ (event.target)));
    if (this.setup && given.password !== given.again) {
      this._error = new Error("The two passwords are not the same.");
      return;
    }
    delete given.again;
    this._busy = true;
    this._error = null;
    try {
      const me = await enter(this.setup, given);
      if (here().page === "setup" || here().page === "login") location.hash = "#/workflows";
      session.take(me);
    } catch (error) {
      this._error = asError(error);
    } finally {
      this._busy = false;
    }
  }

  render() {
    const code = here().query.get("code") ?? "";
    return html`<main class="sw-enter">
      <form class="sw-card" @submit=${this._enter}>
        <h1>${this.setup ? "Set up this site" : "Log in"}</h1>
        ${
          this.setup
            ? html`<p class="sw-soft">
                  You are the first visitor. Siteward wrote a one-time code into the terminal where it was started;
                  whoever has it makes the admin account, once.
                </p>
                <label class="sw-field"
                  ><span>One-time code</span>
                  <input
                    name="code"
                    required
                    maxlength="40"
                    autocomplete="one-time-code"
                    autocapitalize="characters"
                    spellcheck="false"
                    .value=${code}
                /></label>`
            : ""
        }
        <label class="sw-field"
          ><span>Name</span>
          <input
            name="name"
            required
            maxlength="40"
            autocomplete="username"
            autocapitalize="none"
            spellcheck="false"
            aria-describedby="name-hint"
        /></label>
        ${this.setup ? html`<p class="sw-soft sw-hint" id="name-hint">Small letters and digits.</p>` : ""}
        <label class="sw-field"
          ><span>Password</span>
          <input
            name="password"
            type="password"
            required
            minlength=${this.setup ? 10 : 1}
            maxlength="256"
            autocomplete=${this.setup ? "new-password" : "current-password"}
            aria-describedby="password-hint"
        /></label>
        ${this.setup ? html`<p class="sw-soft sw-hint" id="password-hint">At least 10 characters.</p>` : ""}
        ${
          this.setup
            ? html`<label class="sw-field"
                ><span>The same password again</span>
                <input name="again" type="password" required maxlength="256" autocomplete="new-password"
              /></label>`
            : ""
        }
        ${this._error ? html`<p class="sw-note is-bad" role="alert">${this._error.message}</p>` : ""}
        <button class="sw-button is-main" ?disabled=${this._busy}>
          ${this.setup ? "Make the admin account" : "Log in"}
        </button>
      </form>
    </main>`;
  }
}
customElements.define("sw-enter", Enter);
