import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const APP = new URL("../../siteward/frontend/app/", import.meta.url);

test("only the wire's edge speaks of any type", () => {
  const vague = readdirSync(APP).filter((name) => /\bany\b[>}|[]/.test(readFileSync(new URL(name, APP), "utf8")));
  assert.deepEqual(vague, ["api.js"]);
});

test("every module of the pages is checked", () => {
  const modules = readdirSync(APP).filter((name) => name.endsWith(".js"));
  assert.ok(modules.length > 10);
  for (const name of modules) assert.match(readFileSync(new URL(name, APP), "utf8"), /^\/\/ @ts-check\n/, name);
});
