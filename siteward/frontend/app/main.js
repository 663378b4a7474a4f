// @ts-check
/** The frame of the pages: who is logged in, where one is, what waits, and short messages. */

import { html, keyed, nothing } from "../vendor/lit.js";
import { SIGNED_OUT } from "./api.js";
import { Page, complain, toast } from "./element.js";
import { findSession, openQuestions, playNext } from "./host.js";
import { live } from "./live.js";
import { icon } from "./parts.js";
import { address, here } from "./router.js";
import { session } from "./session.js";
import "./enter.js";
import "./gates.js";
import "./inbox.js";
import "./run.js";
import "./workflow.js";
import "./workflows.js";

/** @type {readonly (readonly [string, string])[]} */
const NAV = [
  ["workflows", "Workflows"],
  ["inbox", "Inbox"],
  ["runs", "Runs"],
  ["gates", "Gates"],
];
const TOAST_MILLISECONDS = 6000;
const LONG_TOAST_MILLISECONDS = 15_000;
const AGAIN_MILLISECONDS = 3000;

class App extends Page {
  static properties = {
    _ready: { state: true },
    _place: { state: true },
    _asks: { state: true },
    _toast: { state: true },
    _away: { state: true },
    _busy: { state: true },
  };

  constructor() {
    super();
    /** @type {"loading" | "enter" | "setup" | "in" | "offline"} */
    this._ready = "loading";
    this._place = here();
    this._asks = 0;
    /** @type {import("./element.js").Toast | null} */
    this._toast = null;
    this._away = false;
    this._busy = false;
    /** @type {MutationObserver | null} */
    this._arriving = null;
    window.addEventListener("hashchange", () => this._moved());
    window.addEventListener("siteward-toast", (event) => this._told(/** @type {CustomEvent} */ (event).detail));
    window.addEventListener(SIGNED_OUT, () => session.me && this._find());
    session.addEventListener("change", () => this._known());
    live.addEventListener("change", (event) => this._changed(/** @type {CustomEvent} */ (event).detail.topic));
    live.addEventListener("connection", () => (this._away = !live.connected && session.me !== null));
    live.addEventListener("lost", () => session.me && this._find());
    this._find();
  }

  async _find() {
    try {
      const { me, setup } = await findSession();
      if (me === null) this._ready = setup ? "setup" : "enter";
      session.take(me);
    } catch {
      if (session.me !== null) return; // the live stream tries again, and the page says that it is away
      this._ready = "offline";
      window.setTimeout(() => this._find(), AGAIN_MILLISECONDS);
    }
  }

  _known() {
    if (session.me !== null) {
      this._ready = "in";
      this._count();
    } else {
      if (this._ready === "in") this._ready = "enter";
      this._away = false;
      this._asks = 0;
    }
    this._title();
    this.requestUpdate();
  }

  _moved() {
    this._place = here();
    this.updateComplete.then(() => this._focusHeading());
  }

  /** The heading of the new page takes the focus, as soon as it is there: some pages load first. */
  _focusHeading() {
    this._arriving?.disconnect();
    const main = this.querySelector("main");
    if (main === null) return;
    const place = () => {
      const heading = main.querySelector("h1");
      heading?.focus();
      return heading !== null;
    };
    if (place()) return;
    const arriving = new MutationObserver(() => place() && arriving.disconnect());
    arriving.observe(main, { childList: true, subtree: true });
    this._arriving = arriving;
  }

  /** @param {string} topic */
  _changed(topic) {
    if (topic === "resync" || topic.startsWith("approval.")) this._count();
  }

  async _count() {
    try {
      const { approvals } = await openQuestions();
      this._asks = approvals.filter((ask) => !ask.rehearsal && ask.may_answer).length;
    } catch {
      return; // the page itself says that the site does not answer
    }
    this._title();
  }

  /** The tab says it too, for someone who looks at another one. */
  _title() {
    const site = session.me?.site ?? "Siteward";
    document.title = this._asks ? `(${this._asks}) ${site}` : site;
  }

  /** @param {import("./element.js").Toast} told */
  _told(told) {
    this._toast = told;
    const stays = told.more === null ? TOAST_MILLISECONDS : LONG_TOAST_MILLISECONDS;
    window.setTimeout(() => this._toast === told && (this._toast = null), stays);
  }

  async _leave() {
    try {
      await session.end();
    } catch (error) {
      complain(error);
    }
  }

  async _play() {
    this._busy = true;
    try {
      const { scene } = await playNext();
      toast(`Playing: ${scene}`, { words: "See the runs", address: address("runs") });
    } catch (error) {
      complain(error);
    } finally {
      this._busy = false;
    }
  }

  render() {
    return html`${this._body()}
      <div class="sw-toasts" role="status" aria-live="polite">
        ${this._toast ? html`<p class="sw-toast is-${this._toast.look}"><bdi>${this._toast.words}</bdi> ${this._toast.more ? html`<a href=${this._toast.more.address} @click=${() => (this._toast = null)}>${this._toast.more.words}</a>` : nothing}</p>` : nothing}
      </div>`;
  }

  _body() {
    if (this._ready === "loading") {
      return html`<main class="sw-enter">
        <p class="sw-loading" role="status"><span class="sw-spinner"></span>Loading…</p>
      </main>`;
    }
    if (this._ready === "offline") {
      return html`<main class="sw-enter">
        <p class="sw-note is-bad" role="alert">The site does not answer. Trying again…</p>
      </main>`;
    }
    if (this._ready !== "in" || session.me === null) {
      return html`<sw-enter ?setup=${this._ready === "setup"}></sw-enter>`;
    }
    return html`<a class="sw-skip" href="#main" @click=${this._skip}>Skip to the page</a>
      <header class="sw-header">
        <a class="sw-brand" href="#/workflows"><bdi>${session.me.site}</bdi></a>
        ${this._nav()}
        <div class="sw-tools">
          ${
            session.me.demo && session.may("workflows.manage")
              ? html`<button class="sw-button is-main sw-play" ?disabled=${this._busy} @click=${this._play}>
                  ${icon("play")}<span>Play next<span class="sw-wide"> vehicle</span></span>
                </button>`
              : ""
          }
          <button class="sw-button sw-out" title="Log out ${session.me.person.name}" @click=${this._leave}>
            ${icon("out")}<span class="sw-name">${session.me.person.name}</span><span class="sw-hidden">Log out</span>
          </button>
        </div>
      </header>
      ${this._away ? html`<p class="sw-note is-bad sw-away" role="status">Not connected: what you see may be old. Connecting again…</p>` : ""}
      ${this._waiting()}
      <main id="main" class="sw-main">${this._page()}</main>`;
  }

  /** A question that waits is said on every page. */
  _waiting() {
    const words = this._asks === 1 ? "A question waits for you." : `${this._asks} questions wait for you.`;
    const shown = this._asks > 0 && this._place.page !== "inbox";
    return html`<div role="status">
      ${shown ? html`<p class="sw-waiting">${icon("inbox")} ${words} <a href=${address("inbox")}>Answer in the inbox</a></p>` : nothing}
    </div>`;
  }

  /** @param {Event} event */
  _skip(event) {
    event.preventDefault();
    /** @type {HTMLElement | null} */ (this.querySelector("main h1"))?.focus();
  }

  _nav() {
    return html`<nav class="sw-nav" aria-label="Pages">
      ${NAV.map(
        ([page, word]) =>
          html`<a href=${address(page)} aria-current=${this._place.page === page ? "page" : nothing}>
            ${icon(page)}<span>${word}</span>${page === "inbox" && this._asks ? html`<span class="sw-badge">${this._asks}<span class="sw-hidden"> open questions</span></span>` : ""}</a
          >`,
      )}
    </nav>`;
  }

  _page() {
    const { page, id } = this._place;
    if (page === "inbox") return html`<sw-inbox></sw-inbox>`;
    if (page === "gates") return html`<sw-gates></sw-gates>`;
    if (page === "runs") return id === null ? html`<sw-runs></sw-runs>` : keyed(id, html`<sw-run .run=${id}></sw-run>`);
    return id === null
      ? html`<sw-workflows></sw-workflows>`
      : keyed(id, html`<sw-workflow .workflow=${id}></sw-workflow>`);
  }
}

customElements.define("sw-app", App);
