// @ts-check
/** The gates of the site, drawn as they stand, and what workflows did to them. */

import { html, repeat, svg } from "../vendor/lit.js";
import { Ticking } from "./element.js";
import { ago, plain, stepKind, stepState, tone } from "./format.js";
import { gates } from "./host.js";
import { Loaded, empty } from "./loading.js";
import { runLink } from "./parts.js";

const WORDS = { open: "Open", closed: "Closed", unknown: "State not known" };
const REFRESH = 5000;

class Gates extends Ticking {
  constructor() {
    super();
    this._loaded = new Loaded(this, gates, ["gate.", "run."]);
  }

  connectedCallback() {
    super.connectedCallback();
    // A gate also moves by other hands than ours, which no message tells: look again while the page is open.
    this._again = window.setInterval(() => document.visibilityState === "visible" && this._loaded.reload(), REFRESH);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this._again);
  }

  render() {
    return html`<h1 tabindex="-1">Gates</h1>
      ${this._loaded.view(
        (value) =>
          html` ${
              value.gates.length
                ? html`<ul class="sw-gates">
                    ${repeat(value.gates, (gate) => gate.role, drawn)}
                  </ul>`
                : empty("No gates", html`Add one under <code>gates</code> in configuration.yaml.`)
            }
            <h2>What workflows did</h2>
            ${
              value.log.length
                ? html`<ul class="sw-list">
                    ${repeat(value.log, (move) => move.run_id + move.started_at, logged)}
                  </ul>`
                : empty("Nothing yet", "Each time that a workflow moves a gate, it is written here.")
            }`,
      )}`;
  }
}

/** @param {import("./rows.js").Gate} gate */
function drawn(gate) {
  return html`<li class="sw-card sw-gate is-${gate.state}">
    <svg viewBox="0 -78 240 208" role="img" aria-label=${`${gate.name}: ${WORDS[gate.state]}`}>
      ${svg`
      <path class="sw-gate-road" d="M0 112h240v18H0z"></path><path class="sw-gate-line" d="M16 121h24m20 0h24m20 0h24m20 0h24m20 0h24"></path>
      <rect class="sw-gate-post" x="26" y="52" width="22" height="62" rx="4"></rect>
      <g class="sw-gate-arm"><rect x="30" y="60" width="158" height="10" rx="5"></rect><path d="M70 60l-8 10h14l8-10zM104 60l-8 10h14l8-10zM138 60l-8 10h14l8-10zM172 60l-8 10h14l8-10z"></path></g>
      <circle class="sw-gate-lamp" cx="37" cy="46" r="8"></circle>`}
    </svg>
    <p class="sw-gate-name">
      <strong dir="auto">${gate.name}</strong>
      <span data-gate=${gate.role} data-state=${gate.state}>${WORDS[gate.state]}</span>
    </p>
  </li>`;
}

/** @param {import("./rows.js").Move} move */
function logged(move) {
  return html`<li class="sw-card sw-run-row">
    <span class="sw-pill is-${tone(move.status)}">${stepState(move.status)}</span>
    ${runLink(move.run_id, html`${stepKind(move.action)} <bdi>${move.gate}</bdi>`)}
    <span class="sw-soft"
      ><bdi>${move.workflow}</bdi>,
      ${ago(move.started_at, Date.now())}${move.result && move.status !== "done" ? html`, ${plain(move.result)}` : ""}</span
    >
  </li>`;
}
customElements.define("sw-gates", Gates);
