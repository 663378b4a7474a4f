// @ts-check
/** Small pieces that several pages show. Functions of their values, nothing more. */

import { html, svg } from "../vendor/lit.js";
import { picture } from "./api.js";
import { marked, plain, runState, sections, tone } from "./format.js";
import { address } from "./router.js";

/** Icons, drawn on 24 by 24 with a pen of 2. @type {Readonly<Record<string, string>>} */
const ICONS = Object.freeze({
  workflows: "M5 4h6v6H5zM13 14h6v6h-6zM8 10v4a3 3 0 0 0 3 3h2",
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5",
  runs: "M12 7v5l3 2M21 12a9 9 0 1 1-3-6.7M21 4v4h-4",
  gates: "M5 20V9m0 3 15-5M5 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4M3 20h4",
  play: "M8 5l11 7-11 7z",
  out: "M14 4h5v16h-5M4 12h10m-4-4 4 4-4 4",
  ai: "M12 3l1.8 5.2L19 10l-5.2 1.8L12 17l-1.8-5.2L5 10l5.2-1.8zM19 16v4m-2-2h4",
  if: "M6 4v7h12v4M6 11v9m12-9-3 3m3-3 3 3",
  for_each: "M4 7h12l-3-3m7 13H8l3 3",
  ask_person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8m-8 9c0-4 3.5-6 8-6s8 2 8 6",
  wait: "M12 7v5l3 2m-3 7a9 9 0 1 0 0-18 9 9 0 0 0 0 18",
  alert: "M12 4a6 6 0 0 0-6 6v4l-2 3h16l-2-3v-4a6 6 0 0 0-6-6m-2 13a2 2 0 0 0 4 0",
  log: "M5 6h14M5 12h14M5 18h9",
  gate: "M5 20V9m0 3 15-5M5 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4",
  webhook: "M4 12h12m-4-4 4 4-4 4M20 5v14",
  step: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8",
  event: "M13 3 5 14h6l-1 7 8-11h-6z",
});

/** @param {string} name */
export function icon(name) {
  return html`<svg class="sw-icon" viewBox="0 0 24 24" aria-hidden="true">
    ${svg`<path d=${ICONS[name] ?? ICONS.step}></path>`}
  </svg>`;
}

/** The icon of a step kind. @param {string} kind */
export function kindIcon(kind) {
  if (kind.startsWith("gate.")) return icon("gate");
  if (kind === "notify") return icon("alert");
  if (kind === "wait_for") return icon("wait");
  return icon(kind in ICONS ? kind : "step");
}

/** @param {string} state */
export const statePill = (state) => html`<span class="sw-pill is-${tone(state)}">${runState(state)}</span>`;

/** @param {string} mode */
export const modePill = (mode) =>
  mode === "on" ? "" : html`<span class="sw-pill is-test">${mode === "test" ? "Test" : mode}</span>`;

/** What a version in Test beside the one that is On means. @param {{version: number, on_version: number | null}} workflow */
export const besideWords = ({ version, on_version: on }) =>
  on === null ? "" : `Version ${version} runs in Test beside version ${on}, which is On.`;

/**
 * A kept picture; it opens in full in a tab of its own.
 * @param {string | null} id @param {string} about @param {string} [look]
 */
export function shot(id, about, look = "") {
  if (id === null) return "";
  return html`<a class="sw-shot ${look}" href=${picture(id)} target="_blank" rel="noopener"
    ><img src=${picture(id)} alt=${about} loading="lazy"
  /></a>`;
}

/** @param {string} runId @param {unknown} words */
export const runLink = (runId, words) => html`<a href=${address("runs", runId)}>${words}</a>`;

/**
 * A message with the words in it that are a model's marked as such.
 * @param {string} message
 * @param {Readonly<Record<string, import("./rows.js").Given>>} shown the values that stand in it
 */
export function attributed(message, shown) {
  const said = Object.values(shown)
    .filter((given) => given.from === "ai")
    .map((given) => plain(given.value));
  const pieces = marked(message, said);
  return {
    marks: pieces.some((piece) => piece.said),
    words: pieces.map((piece) => (piece.said ? html`<mark class="sw-said">${piece.text}</mark>` : piece.text)),
  };
}

/** An explanation, section by section. @param {string} text */
export function explained(text) {
  return html`<div class="sw-explain">
    ${sections(text).map(
      ({ title, items }) =>
        html`<p class="sw-explain-title">${title}</p>
          <ul>
            ${items.map((item) => html`<li class=${item.deeper ? "is-deeper" : ""} dir="auto">${item.text}</li>`)}
          </ul>`,
    )}
  </div>`;
}

/** What a model said, set apart from what the host knows. @param {string} words @param {string} more */
export function modelSays(words, more) {
  return html`<figure class="sw-says">
    <figcaption>The model says <span>${more}</span></figcaption>
    <blockquote dir="auto">${words}</blockquote>
  </figure>`;
}
