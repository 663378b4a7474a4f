// @ts-check
/** How times, states and values read on the pages. Pure: nothing here touches the document. */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

/**
 * How long ago, in words.
 * @param {string} moment RFC 3339
 * @param {number} now milliseconds
 */
export function ago(moment, now) {
  const seconds = Math.max(0, Math.round((now - Date.parse(moment)) / 1000));
  if (seconds < 10) return "just now";
  if (seconds < MINUTE) return `${seconds} s ago`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ago`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h ago`;
  const days = Math.floor(seconds / DAY);
  return days === 1 ? "yesterday" : `${days} days ago`;
}

/**
 * A span of time: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`.
 * @param {number} seconds
 */
export function span(seconds) {
  if (seconds < 10) return `${Math.max(0, Math.round(seconds * 10) / 10)} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) {
    return [`${Math.floor(whole / MINUTE)} min`, whole % MINUTE ? `${whole % MINUTE} s` : ""].filter(Boolean).join(" ");
  }
  const minutes = Math.floor((whole % HOUR) / MINUTE);
  return [`${Math.floor(whole / HOUR)} h`, minutes ? `${minutes} min` : ""].filter(Boolean).join(" ");
}

/**
 * Time left as a clock shows it: `0:09`, `12:30`; null once it is over.
 * @param {string | null} due RFC 3339
 * @param {number} now milliseconds
 */
export function countdown(due, now) {
  if (due === null) return null;
  const left = Math.ceil((Date.parse(due) - now) / 1000);
  if (left <= 0) return null;
  const seconds = String(left % MINUTE).padStart(2, "0");
  if (left < HOUR) return `${Math.floor(left / MINUTE)}:${seconds}`;
  return `${Math.floor(left / HOUR)}:${String(Math.floor((left % HOUR) / MINUTE)).padStart(2, "0")}:${seconds}`;
}

/** @param {string} moment */
export function clock(moment) {
  return new Date(moment).toLocaleTimeString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
}

/** @param {string} moment */
export function day(moment) {
  return new Date(moment).toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short" });
}

/** Words for the states of a run. @type {Readonly<Record<string, string>>} */
const RUN_STATES = Object.freeze({
  running: "Running",
  waiting: "Waiting",
  done: "Done",
  not_met: "Not met",
  failed: "Failed",
  unknown: "Outcome unknown",
  cancelled: "Cancelled",
  expired: "Expired",
  no_trigger: "Would not start",
});

/** Words for the states of a step. @type {Readonly<Record<string, string>>} */
const STEP_STATES = Object.freeze({
  intent: "Under way",
  waiting: "Waiting",
  done: "Done",
  failed: "Failed",
  refused: "Refused",
  expired: "Too late",
  unknown: "Outcome unknown",
  would_have: "Would have",
  skipped: "Skipped",
});

/** @param {string} state */
export const runState = (state) => RUN_STATES[state] ?? state;
/** @param {string} state */
export const stepState = (state) => STEP_STATES[state] ?? state;

/** How good a state is, for its colour. @param {string} state @returns {"good" | "bad" | "wait" | "plain"} */
export function tone(state) {
  if (["done", "open_gate"].includes(state)) return "good";
  if (["failed", "unknown", "refused", "expired"].includes(state)) return "bad";
  if (["waiting", "running", "intent"].includes(state)) return "wait";
  return "plain";
}

/** Words for the kinds of steps. @type {Readonly<Record<string, string>>} */
const KINDS = Object.freeze({
  ai: "AI",
  if: "If",
  for_each: "For each",
  ask_person: "Ask a person",
  wait: "Wait",
  wait_for: "Wait for",
  call: "Call",
  alert: "Alert",
  notify: "Notify",
  log: "Log",
  webhook: "Webhook",
  site_mode: "Site mode",
  "gate.open": "Open gate",
  "gate.close": "Close gate",
  siren: "Siren",
});

/** @param {string} kind */
export const stepKind = (kind) => KINDS[kind] ?? kind.replaceAll(/[._]/g, " ");

/** @param {string} type */
export function eventWords(type) {
  /** @type {Record<string, string>} */
  const known = {
    "detect.vehicle_in_zone": "Vehicle in zone",
    "detect.person_in_zone": "Person in zone",
    "plate.recognized.v1": "Plate read",
    button: "Button pressed",
    schedule: "Schedule",
  };
  return known[type] ?? type.replaceAll(/[._]/g, " ");
}

/** `user:anna` as anna, `role:guard` as guard. @param {string} who */
export const whoWords = (who) => who.replace(/^(user|role|group):/, "");

/**
 * How sure a model was. A confidence that nobody measured is never shown as a number.
 * @param {{confidence: number | null, confidence_source: string | null}} model
 */
export function confidence(model) {
  if (model.confidence === null) return "confidence: not measured";
  const source = model.confidence_source === null ? "" : ` (${model.confidence_source})`;
  return `confidence: ${Math.round(model.confidence * 100)} %${source}`;
}

/** Where a confidence comes from, for someone who wonders. @type {Readonly<Record<string, string>>} */
const CONFIDENCE = Object.freeze({
  score: "the detector's own score for what it found",
  agreement: "the share of several independent looks that agreed",
  likelihood: "the model's own likelihood of its answer",
  precision: "how often this answer was right so far, in cases that people marked",
  evidence: "how well the evidence supports the answer",
});

/** @param {string | null} source */
export function confidenceMeans(source) {
  if (source === null) return "Not measured: this model gives no figure that can be checked, so none is shown.";
  return `Measured as ${CONFIDENCE[source] ?? source}. It can still be wrong.`;
}

/**
 * What a try would have done, sorted by what a person looks for first. Lines to the log are only counted at first sight.
 * @param {readonly string[]} lines
 * @param {string | null} reason the model's reason, which stands beside them already
 * @returns {{acts: string[], asks: string[], logs: string[]}}
 */
export function wouldHave(lines, reason) {
  const short = (/** @type {string} */ line) => (reason ? line.replaceAll(reason, "…") : line);
  const starts = (/** @type {string} */ word) => lines.filter((line) => line.startsWith(word));
  const asks = starts("ask: ").map((line) => short(line.slice("ask: ".length)));
  const logs = starts("log ").map((line) => line.replace(/^log (message )?/, ""));
  return { acts: lines.filter((line) => !/^(ask: |log )/.test(line)).map(short), asks, logs };
}

/**
 * How often each decision was made, the most frequent first.
 * @param {readonly (string | null | undefined)[]} decisions
 * @returns {[string, number][]}
 */
export function tally(decisions) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const decision of decisions) {
    counts.set(decision ?? "no decision", (counts.get(decision ?? "no decision") ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/**
 * The rule that decided, as the file has it: `: when vehicle is car, then car`; nothing where it is not there to be read.
 * @param {unknown} rules
 * @param {number} index
 */
export function ruleWords(rules, index) {
  const rule = Array.isArray(rules) ? rules[index] : undefined;
  if (rule === null || typeof rule !== "object" || !("then" in rule)) return "";
  const when = Object.entries(rule.when ?? {}).map(([name, value]) => `${nameWords(name)} is ${either(value)}`);
  return `: ${when.length ? `when ${when.join(" and ")}` : "otherwise"}, then ${plain(rule.then)}`;
}

/** @param {unknown} value */
const either = (value) => (Array.isArray(value) ? value.map(plain).join(" or ") : plain(value));

/**
 * Whether a gate really moved, as its relay told.
 * @param {string} before
 * @param {string} after
 * @param {boolean} dry
 */
export function gateWords(before, after, dry) {
  if (dry) return "a dry run: nothing was sent to the gate";
  return before === after ? `was ${after} already` : `was ${before}, read back as ${after}`;
}

/** A name of the file as words: `min_seconds` as `min seconds`. @param {string} name */
export const nameWords = (name) => name.replaceAll("_", " ");

/** What a move does, in words: `gate.open north` as `opens north`. @param {string} move */
export function moveWords(move) {
  return move
    .replace(/^gate\.open /, "opens ")
    .replace(/^gate\.close /, "closes ")
    .replace(/^siren /, "sounds ")
    .replace(/^site_mode /, "sets the site to ");
}

/**
 * A message cut at the words that came from a model, so that they can be marked as such.
 * @param {string} message
 * @param {readonly string[]} said what the model gave to the message
 * @returns {{text: string, said: boolean}[]}
 */
export function marked(message, said) {
  /** @type {{text: string, said: boolean}[]} */
  let pieces = [{ text: message, said: false }];
  for (const words of [...said].filter((w) => w.trim()).sort((a, b) => b.length - a.length)) {
    pieces = pieces.flatMap((piece) => {
      if (piece.said || !piece.text.includes(words)) return [piece];
      return piece.text.split(words).flatMap((text, index) =>
        index === 0
          ? [{ text, said: false }]
          : [
              { text: words, said: true },
              { text, said: false },
            ],
      );
    });
  }
  return pieces.filter((piece) => piece.text !== "");
}

/**
 * An explanation's lines as sections with their items.
 * @param {string} text
 * @returns {{title: string, items: {text: string, deeper: boolean}[]}[]}
 */
export function sections(text) {
  /** @type {{title: string, items: {text: string, deeper: boolean}[]}[]} */
  const found = [];
  for (const line of text.split("\n")) {
    if (/^\S.*:$/.test(line)) found.push({ title: line.slice(0, -1), items: [] });
    else if (line.trim()) {
      found.at(-1)?.items.push({ text: line.replace(/^\s*-?\s*/, ""), deeper: !/^ {2}- /.test(line) });
    }
  }
  return found;
}

/** Any value as one line of text. @param {unknown} value @returns {string} */
export function plain(value) {
  if (value === null || value === undefined) return "nothing";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value === "object") {
    return Object.entries(value)
      .map(([name, inner]) => `${name}: ${plain(inner)}`)
      .join(", ");
  }
  return String(value);
}
