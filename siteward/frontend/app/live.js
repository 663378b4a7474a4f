// @ts-check
/**
 * Live updates: one WebSocket, resumed by the id of the last message, with back-off. Pages listen for `change` events whose `detail` is
 * the message; the topic `resync` means that anything may have changed. `connection` tells that `connected` changed, `lost` that an attempt ended: the host
 * is away, or nobody is logged in any more.
 */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 20_000;
const LOOK_SECONDS = 20;
const ANSWER_SECONDS = 15;

/** @typedef {{id: number | null, topic: string, data: Record<string, unknown>}} Message */

/** How long to wait before the next attempt. @param {number} failures @param {number} chance 0 to 1 */
export function backOff(failures, chance) {
  const full = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures);
  return full / 2 + (full / 2) * chance;
}

export class Live extends EventTarget {
  /**
   * @param {() => Promise<unknown>} answers whether the host answers at all: a network that died without a word closes no socket
   * @param {(address: string) => WebSocket} [open]
   */
  constructor(answers, open = (address) => new WebSocket(address)) {
    super();
    /** @type {number | null} */
    this.last = null;
    this.connected = false;
    this._answers = answers;
    this._open = open;
    /** @type {WebSocket | null} */
    this._socket = null;
    this._failures = 0;
    this._timer = 0;
    this._looking = 0;
    this._wanted = false;
    this._onVisible = () => document.visibilityState === "visible" && this._seen();
    this._onOnline = () => this._now();
    this._onOffline = () => this._drop();
  }

  start() {
    if (this._wanted) return;
    this._wanted = true;
    document.addEventListener("visibilitychange", this._onVisible);
    window.addEventListener("online", this._onOnline);
    window.addEventListener("offline", this._onOffline);
    this._looking = window.setInterval(() => this._look(), LOOK_SECONDS * 1000);
    this._connect();
  }

  stop() {
    this._wanted = false;
    this.last = null;
    this.connected = false;
    clearTimeout(this._timer);
    clearInterval(this._looking);
    document.removeEventListener("visibilitychange", this._onVisible);
    window.removeEventListener("online", this._onOnline);
    window.removeEventListener("offline", this._onOffline);
    this._socket?.close();
    this._socket = null;
  }

  _address() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    return `${scheme}//${location.host}/api/v1/live${this.last === null ? "" : `?last=${this.last}`}`;
  }

  _connect() {
    const socket = this._open(this._address());
    this._socket = socket;
    socket.onmessage = (event) => socket === this._socket && this._take(JSON.parse(event.data));
    socket.onclose = () => socket === this._socket && this._closed();
  }

  /** @param {Message} message */
  _take(message) {
    this._failures = 0;
    const again = this.last !== null;
    this.last = message.id;
    if (message.topic !== "hello") {
      this.dispatchEvent(new CustomEvent("change", { detail: message }));
      return;
    }
    this._told(true);
    // What failed to load while the host was away is loaded now, also where no message was missed.
    if (again) this._resync();
  }

  _closed() {
    this._socket = null;
    if (!this._wanted) return;
    this._told(false);
    this.dispatchEvent(new Event("lost"));
    this._timer = window.setTimeout(() => this._connect(), backOff(this._failures, Math.random()));
    this._failures += 1;
  }

  /** Give up a socket that does not work, without waiting until the system notices. */
  _drop() {
    if (this._socket === null) return;
    this._socket.close();
    this._closed();
  }

  /** Connect without waiting, where no socket is open. */
  _now() {
    if (this._socket !== null || !this._wanted) return;
    clearTimeout(this._timer);
    this._failures = 0;
    this._connect();
  }

  async _look() {
    if (!this.connected || document.visibilityState !== "visible") return;
    const socket = this._socket;
    try {
      await this._answers();
    } catch {
      if (socket === this._socket) this._drop();
    }
  }

  /** @param {boolean} connected */
  _told(connected) {
    if (this.connected === connected) return;
    this.connected = connected;
    this.dispatchEvent(new Event("connection"));
  }

  /** A page that was hidden may have slept: ask for everything anew. */
  _seen() {
    this._now();
    this._resync();
  }

  _resync() {
    this.dispatchEvent(new CustomEvent("change", { detail: { id: this.last, topic: "resync", data: {} } }));
  }
}

/** The one live stream of this page. */
export const live = new Live(async () => {
  const answer = await fetch("/api/v1/alive", { signal: AbortSignal.timeout(ANSWER_SECONDS * 1000) });
  // Read to its end: a body left unread is broken off by the signal, and stands in the browser as a failed request.
  await answer.json();
});
