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

/** Say something short to everyone, screen readers included. @param {string} words @param {"plain" | "bad"} [look] */
export function toast(words, look = "plain") {
  window.dispatchEvent(new CustomEvent("siteward-toast", { detail: { words, look } }));
}
