// @ts-check
/**
 * Live updates: one WebSocket, resumed by the id of the last message, with back-off. Pages listen for `change` events whose `detail` is
 * the topic; `resync` means that anything may have changed.
 */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 20_000;

/** @typedef {{id: number, topic: string, data: Record<string, unknown>}} Message */

/** How long to wait before the next attempt. @param {number} failures @param {number} chance 0 to 1 */
export function backOff(failures, chance) {
  const full = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures);
  return full / 2 + (full / 2) * chance;
}

export class Live extends EventTarget {
  /** @param {() => WebSocket} [open] */
  constructor(open) {
    super();
    /** @type {number | null} */
    this.last = null;
    this.connected = false;
    this._open = open ?? (() => new WebSocket(this._address()));
    /** @type {WebSocket | null} */
    this._socket = null;
    this._failures = 0;
    this._timer = 0;
    this._wanted = false;
    this._onVisible = () => document.visibilityState === "visible" && this._seen();
  }

  start() {
    if (this._wanted) return;
    this._wanted = true;
    document.addEventListener("visibilitychange", this._onVisible);
    this._connect();
  }

  stop() {
    this._wanted = false;
    this.last = null;
    clearTimeout(this._timer);
    document.removeEventListener("visibilitychange", this._onVisible);
    this._socket?.close();
    this._socket = null;
  }

  _address() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    return `${scheme}//${location.host}/api/v1/live${this.last === null ? "" : `?last=${this.last}`}`;
  }

  _connect() {
    const socket = this._open();
    this._socket = socket;
    socket.onmessage = (event) => this._take(JSON.parse(event.data));
    socket.onclose = () => this._closed(socket);
  }

  /** @param {Message} message */
  _take(message) {
    this._failures = 0;
    this.last = message.id;
    if (message.topic === "hello") {
      this._told(true);
      return;
    }
    this.dispatchEvent(new CustomEvent("change", { detail: message }));
  }

  /** @param {WebSocket} socket */
  _closed(socket) {
    if (socket !== this._socket || !this._wanted) return;
    this._told(false);
    this._timer = window.setTimeout(() => this._connect(), backOff(this._failures, Math.random()));
    this._failures += 1;
  }

  /** @param {boolean} connected */
  _told(connected) {
    if (this.connected === connected) return;
    this.connected = connected;
    this.dispatchEvent(new Event("connection"));
  }

  /** A page that was hidden may have slept: ask for everything anew. */
  _seen() {
    this.dispatchEvent(new CustomEvent("change", { detail: { id: this.last, topic: "resync", data: {} } }));
  }
}

/** The one live stream of this page. */
export const live = new Live();
