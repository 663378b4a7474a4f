// @ts-check
/** Who is logged in, for every page. */

import { useToken } from "./api.js";
import { leave } from "./host.js";
import { live } from "./live.js";

/** @typedef {import("./rows.js").Me} Me */

class Session extends EventTarget {
  /** @type {Me | null} */
  me = null;

  /** @param {string} permission */
  may(permission) {
    return this.me !== null && this.me.permissions.includes(permission);
  }

  /** @param {Me | null} me */
  take(me) {
    this.me = me;
    useToken(me === null ? null : me.csrf);
    if (me === null) live.stop();
    else live.start();
    this.dispatchEvent(new Event("change"));
  }

  async end() {
    await leave();
    this.take(null);
  }
}

export const session = new Session();
