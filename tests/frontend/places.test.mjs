import assert from "node:assert/strict";
import { test } from "node:test";
import { address, parse } from "../../siteward/frontend/app/router.js";
import { backOff } from "../../siteward/frontend/app/live.js";

test("an address and its place are the same thing", () => {
  for (const id of ["01ABC", "a/b", "ü ?#%"]) {
    assert.deepEqual([parse(address("runs", id)).page, parse(address("runs", id)).id], ["runs", id]);
  }
});

test("an unknown or broken address leads to the workflows", () => {
  for (const hash of ["", "#", "#/nowhere", "#/<script>"]) assert.equal(parse(hash).page, "workflows");
  assert.equal(parse("#/runs/%E0%A4%A").id, "%E0%A4%A");
});

test("the code of the setup stays behind the #", () => {
  assert.equal(parse("#/setup?code=ABCD-EFGH").query.get("code"), "ABCD-EFGH");
});

test("a page that cannot connect waits longer each time, up to a bound", () => {
  const waits = [0, 1, 5, 50].map((failures) => backOff(failures, 1));
  assert.deepEqual(waits, [500, 1000, 16000, 20000]);
  assert.equal(backOff(0, 0), 250);
});
