// @ts-check
/** The element that every page extends: Lit in light DOM, one style sheet for all. */

import { LitElement } from "../vendor/lit.js";

export class Page extends LitElement {
  createRenderRoot() {
    return this;
  }
}

/** An element that renders again each second, for what counts down. */
export class Ticking extends Page {
  connectedCallback() {
    super.connectedCallback();
    this._tick = window.setInterval(() => this.requestUpdate(), 1000);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this._tick);
  }
}

/** @typedef {{words: string, look: "plain" | "bad", more: {words: string, address: string} | null}} Toast */

/**
 * Say something short to everyone, screen readers included.
 * @param {string} words
 * @param {Toast["more"]} [more] a link to where one sees more
 */
export function toast(words, more = null) {
  tell({ words, look: "plain", more });
}

/** Say what went wrong. @param {unknown} error */
export function complain(error) {
  tell({ words: asError(error).message, look: "bad", more: null });
}

/** @param {Toast} detail */
function tell(detail) {
  window.dispatchEvent(new CustomEvent("siteward-toast", { detail }));
}

/** What was thrown, as an error that can be shown. @param {unknown} thrown @returns {Error} */
export const asError = (thrown) => (thrown instanceof Error ? thrown : new Error(String(thrown)));
