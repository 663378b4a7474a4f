// @ts-check
/** What a page shows while it loads, when it could not, and when there is nothing: the same everywhere. */

import { html } from "../vendor/lit.js";
import { asError } from "./element.js";
import { live } from "./live.js";

const SETTLE = 120;

/**
 * Loads something for an element, again whenever one of `topics` changes.
 * @template T
 */
export class Loaded {
  /**
   * @param {import("../vendor/lit.js").LitElement} element
   * @param {() => Promise<T>} load
   * @param {readonly string[]} topics prefixes of the topics that matter
   */
  constructor(element, load, topics) {
    this._element = element;
    this._load = load;
    this._topics = topics;
    /** @type {T | null} */
    this.value = null;
    /** @type {Error | null} */
    this.error = null;
    this._round = 0;
    this._timer = 0;
    /** @param {Event} event */
    this._onChange = (event) => {
      const { topic } = /** @type {CustomEvent<import("./live.js").Message>} */ (event).detail;
      if (topic !== "resync" && !this._topics.some((prefix) => topic.startsWith(prefix))) return;
      clearTimeout(this._timer);
      this._timer = window.setTimeout(() => this.reload(), SETTLE);
    };
    element.addController(this);
  }

  hostConnected() {
    live.addEventListener("change", this._onChange);
    this.reload();
  }

  hostDisconnected() {
    live.removeEventListener("change", this._onChange);
    clearTimeout(this._timer);
    this._round += 1;
  }

  /** Load again; what is shown stays until the new is there. */
  async reload() {
    const round = ++this._round;
    try {
      const value = await this._load();
      if (round !== this._round) return;
      this.value = value;
      this.error = null;
    } catch (error) {
      if (round !== this._round) return;
      this.error = asError(error);
    }
    this._element.requestUpdate();
  }

  /** @param {(value: T) => unknown} show */
  view(show) {
    if (this.value !== null) {
      return html`${this.error ? failed(this.error, () => this.reload()) : ""}${show(this.value)}`;
    }
    if (this.error) return failed(this.error, () => this.reload());
    return html`<div class="sw-loading" role="status"><span class="sw-spinner"></span>Loading…</div>`;
  }
}

/** @param {Error} error @param {() => void} again */
export function failed(error, again) {
  return html`<div class="sw-note is-bad" role="alert">
    <p>${error.message}</p>
    <button class="sw-button" @click=${again}>Try again</button>
  </div>`;
}

/** @param {string} title @param {unknown} hint */
export function empty(title, hint) {
  return html`<div class="sw-empty">
    <p class="sw-empty-title">${title}</p>
    <p>${hint}</p>
  </div>`;
}
