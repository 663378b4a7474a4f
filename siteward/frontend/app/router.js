// @ts-check
/** Addresses of the pages: what stands behind the `#`. Pure, but for `here` and `go`. */

/** @typedef {{page: string, id: string | null, query: URLSearchParams}} Place */

const PAGES = new Set(["workflows", "runs", "inbox", "gates", "setup", "login"]);

/** @param {string} hash @returns {Place} */
export function parse(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", id = ""] = path.split("/", 2);
  return { page: PAGES.has(page) ? page : "workflows", id: id ? decode(id) : null, query: new URLSearchParams(query) };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} page @param {string} [id] */
export const address = (page, id) => `#/${page}${id === undefined ? "" : `/${encodeURIComponent(id)}`}`;

/** @returns {Place} */
export const here = () => parse(location.hash);

/** @param {string} page @param {string} [id] */
export function go(page, id) {
  location.hash = address(page, id);
}
