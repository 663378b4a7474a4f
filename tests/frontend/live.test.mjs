import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { Live } from "../../siteward/frontend/app/live.js";

/** A stream on sockets that the test holds, in a browser of three events. */
function stream({ answers = async () => true } = {}) {
  const opened = [];
  const told = [];
  const live = new Live(answers, (address) => {
    const socket = { address, close: () => {} };
    opened.push(socket);
    return socket;
  });
  live.addEventListener("change", (event) => told.push(event.detail.topic));
  live.addEventListener("connection", () => told.push(live.connected ? "here" : "away"));
  live.start();
  const hears = (id, topic) => opened.at(-1).onmessage({ data: JSON.stringify({ id, topic, data: {} }) });
  return { live, opened, told, hears };
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  globalThis.window = Object.assign(new EventTarget(), { setTimeout, setInterval });
  globalThis.document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  globalThis.location = { protocol: "http:", host: "site" };
});

test("a stream that broke is taken up after the last message that was seen", () => {
  const { opened, told, hears } = stream();
  hears(4, "hello");
  hears(7, "run.ended");
  opened[0].onclose({});
  mock.timers.tick(500);
  assert.deepEqual(
    opened.map((socket) => socket.address),
    ["ws://site/api/v1/live", "ws://site/api/v1/live?last=7"],
  );
  hears(9, "hello");
  assert.deepEqual(told, ["here", "run.ended", "away", "here", "resync"]);
});

test("a lost network is told at once and its return connects at once", () => {
  const { opened, told, hears } = stream();
  hears(1, "hello");
  globalThis.window.dispatchEvent(new Event("offline"));
  assert.deepEqual(told, ["here", "away"]);
  globalThis.window.dispatchEvent(new Event("online"));
  assert.equal(opened.length, 2);
});

test("a host that went silent without closing the stream is noticed", async () => {
  let answering = true;
  const { told, hears } = stream({
    answers: () => (answering ? Promise.resolve() : Promise.reject(new Error("silent"))),
  });
  hears(1, "hello");
  mock.timers.tick(20_000);
  await Promise.resolve();
  assert.deepEqual(told, ["here"]);
  answering = false;
  mock.timers.tick(20_000);
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(told, ["here", "away"]);
});

test("what an old socket still says is not heard", () => {
  const { opened, told, hears } = stream();
  hears(1, "hello");
  globalThis.window.dispatchEvent(new Event("offline"));
  globalThis.window.dispatchEvent(new Event("online"));
  opened[0].onmessage({ data: JSON.stringify({ id: 2, topic: "run.ended", data: {} }) });
  opened[0].onclose({});
  assert.deepEqual(told, ["here", "away"]);
});

test("nothing is opened again for who logged out", () => {
  const { live, opened, hears } = stream();
  hears(1, "hello");
  live.stop();
  opened[0].onclose({});
  mock.timers.tick(60_000);
  assert.equal(opened.length, 1);
});
