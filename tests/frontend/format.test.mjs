import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ago,
  confidence,
  confidenceMeans,
  countdown,
  gateWords,
  marked,
  moveWords,
  plain,
  ruleWords,
  sections,
  span,
  tally,
  wouldHave,
} from "../../siteward/frontend/app/format.js";

const NOW = Date.parse("2026-03-02T09:00:00Z");
const before = (seconds) => new Date(NOW - seconds * 1000).toISOString();

test("a moment reads as how long ago it was", () => {
  const words = [2, 42, 90, 7200, 86400, 260000].map((seconds) => ago(before(seconds), NOW));
  assert.deepEqual(words, ["just now", "42 s ago", "1 min ago", "2 h ago", "yesterday", "3 days ago"]);
});

test("a clock of the host that runs ahead shows no negative time", () => {
  assert.equal(ago(before(-30), NOW), "just now");
});

test("time left counts down to nothing", () => {
  assert.deepEqual(
    [-90, -9, -3700].map((s) => countdown(before(s), NOW)),
    ["1:30", "0:09", "1:01:40"],
  );
  assert.equal(countdown(before(0), NOW), null);
  assert.equal(countdown(null, NOW), null);
});

test("spans read in the largest units that say enough", () => {
  assert.deepEqual([0.42, 12, 60, 185, 7800].map(span), ["0.4 s", "12 s", "1 min", "3 min 5 s", "2 h 10 min"]);
});

test("a confidence that was never measured is no number", () => {
  assert.equal(confidence({ confidence: null, confidence_source: null }), "confidence: not measured");
  assert.equal(confidence({ confidence: 0.824, confidence_source: "score" }), "confidence: 82 % (score)");
});

test("what a model said is marked wherever it stands in a message", () => {
  assert.deepEqual(marked("van at gate: a van.", ["van", "a van"]), [
    { text: "van", said: true },
    { text: " at gate: ", said: false },
    { text: "a van", said: true },
    { text: ".", said: false },
  ]);
  assert.deepEqual(marked("all is the model's", ["all is the model's", ""]), [
    { text: "all is the model's", said: true },
  ]);
  assert.equal(
    marked("a.b", ["a.b"])
      .map((piece) => piece.text)
      .join(""),
    "a.b",
  );
});

test("a reply says what it would move in words", () => {
  assert.equal(moveWords("gate.open north"), "opens north");
  assert.equal(moveWords("my_app.greet door"), "my_app.greet door");
});

test("an explanation reads section by section", () => {
  const found = sections('Name\nStarts when:\n  - a car\nAsks:\n  - guard: "in?"\n      Let in: opens\n');
  assert.deepEqual(
    found.map((section) => section.title),
    ["Starts when", "Asks"],
  );
  assert.deepEqual(
    found[1].items.map((item) => item.deeper),
    [false, true],
  );
});

test("any value reads as one line", () => {
  assert.equal(plain({ a: [1, true], b: null }), "a: 1, true, b: nothing");
});

test("what a confidence is worth is said, also where there is none", () => {
  assert.match(confidenceMeans(null), /^Not measured/);
  assert.match(confidenceMeans("agreement"), /independent looks/);
  assert.match(confidenceMeans("a new way"), /a new way/);
});

test("a try shows what would be done and asked first, and only counts lines to the log", () => {
  const found = wouldHave(["log message a car", "ask: car: a car. In?", "gate.open north", "log b"], "a car.");
  assert.deepEqual(found, { acts: ["gate.open north"], asks: ["car: … In?"], logs: ["a car", "b"] });
  assert.deepEqual(wouldHave([], null), { acts: [], asks: [], logs: [] });
});

test("decisions are counted, the most frequent first", () => {
  assert.deepEqual(tally(["car", "bus", "car", null]), [
    ["car", 2],
    ["bus", 1],
    ["no decision", 1],
  ]);
});

test("whether a gate moved is what its relay told", () => {
  assert.equal(gateWords("closed", "open", false), "was closed, read back as open");
  assert.equal(gateWords("open", "open", false), "was open already");
  assert.match(gateWords("closed", "closed", true), /nothing was sent/);
});

test("the rule that decided reads as a sentence", () => {
  const rules = [{ when: { vehicle: ["car", "bus"], people: "none" }, then: "car" }, { then: "nothing" }];
  assert.equal(ruleWords(rules, 0), ": when vehicle is car or bus and people is none, then car");
  assert.equal(ruleWords(rules, 1), ": otherwise, then nothing");
  assert.equal(ruleWords(rules, 2), "");
  assert.equal(ruleWords("no list", 0), "");
});
