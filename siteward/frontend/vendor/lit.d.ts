// What the pages use of Lit: templates and the element, no decorators.
export { LitElement, html, nothing, svg } from "lit";
export { repeat } from "lit/directives/repeat.js";
export { live } from "lit/directives/live.js";
export { keyed } from "lit/directives/keyed.js";
