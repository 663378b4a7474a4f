// @ts-check
/** Requests to the host: JSON, the session's own token with every write, problems as errors that a person can read. */

const PREFIX = "/api/v1";

/** A refusal of the host, or no answer at all (status 0). */
export class Problem extends Error {
  /** @param {{status: number, code: string, detail: string, place?: string, difference?: string, problems?: unknown[]}} told */
  constructor(told) {
    super(told.detail);
    this.status = told.status;
    this.code = told.code;
    this.place = told.place ?? null;
    this.difference = told.difference ?? null;
    this.problems = told.problems ?? [];
  }
}

/** @type {string | null} */
let csrf = null;

/** Fired on `window` when the host says that nobody is logged in (any more). */
export const SIGNED_OUT = "siteward-signed-out";

/** @param {string | null} token */
export function useToken(token) {
  csrf = token;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {number} [seconds] how long to wait for the answer
 * @returns {Promise<any>} what `host.js` gives a type
 */
async function request(method, path, body, seconds = 35) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrf !== null) {
    headers["X-CSRF-Token"] = csrf;
    headers["Idempotency-Key"] = key();
  }
  /** @type {Response} */
  let response;
  try {
    response = await fetch(PREFIX + path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "same-origin",
      signal: AbortSignal.timeout(seconds * 1000),
    });
  } catch {
    throw new Problem({
      status: 0,
      code: "offline",
      detail: "The site does not answer. Is it running, and are you on its network?",
    });
  }
  if (response.ok) return response.json();
  const told = await response
    .json()
    .catch(() => ({ status: response.status, code: "http", detail: response.statusText }));
  if (response.status === 401 && told.code === "session.missing") window.dispatchEvent(new Event(SIGNED_OUT));
  throw new Problem(told);
}

function key() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {string} path */
export const get = (path) => request("GET", path);
/** @param {string} path @param {unknown} [body] @param {number} [seconds] */
export const post = (path, body, seconds) => request("POST", path, body, seconds);
/** The address of a kept picture. @param {string} id */
export const picture = (id) => `${PREFIX}/media/${encodeURIComponent(id)}`;
