import assert from "node:assert/strict";
import type { HandlerAnswer, Hint } from "../src/exchange.ts";
import { exchangeConformance } from "./exchange_conformance.ts";
import { fakeExchange } from "./fake_exchange.ts";
import { virtualClock } from "./virtual_clock.ts";

exchangeConformance((name, run) => Deno.test(`fakeExchange() ${name}`, run), {
  open: () => fakeExchange({ automatic: true }),
  keepsHints: true,
  skip: {
    "consume() offers a hint of an unknown definition to another consumer":
      "a test sees what was dropped; offering it again would hide it",
  },
});

const DONE: Promise<HandlerAnswer> = Promise.resolve("done");

function hint(executionId: string, partition = "default"): Hint {
  return { executionId, epoch: 1, partition, step: "charge", direction: "execute" };
}

const options = () => ({ concurrency: 10, signal: new AbortController().signal });

Deno.test("fakeExchange() delivers nothing by itself", async () => {
  const exchange = fakeExchange();
  await exchange.consume("default", () => assert.fail("delivered"), options());
  assert.deepEqual(await exchange.publish([hint("a")]), ["sent"]);
  await virtualClock().settle();
  assert.deepEqual([exchange.hints, exchange.sent, exchange.delivered], [[hint("a")], [hint("a")], []]);
});

Deno.test("deliverNext() delivers one hint and says how its handler ended", async () => {
  const exchange = fakeExchange();
  const error = new Error("boom");
  const handler = ({ executionId }: Hint) => executionId === "bad" ? Promise.reject(error) : DONE;
  await exchange.consume("default", handler, options());
  await exchange.publish([hint("good"), hint("bad")]);
  assert.deepEqual(await exchange.deliverNext(), { kind: "answered", answer: "done" });
  assert.deepEqual(await exchange.deliverNext(), { kind: "rejected", error });
  assert.equal(await exchange.deliverNext(), null);
  assert.deepEqual(exchange.delivered, [hint("good"), hint("bad")]);
});

Deno.test("handOut() passes over what no consumer has a slot for", async () => {
  const exchange = fakeExchange();
  const held = Promise.withResolvers<HandlerAnswer>();
  await exchange.consume("other", () => held.promise, { ...options(), concurrency: 1 });
  await exchange.publish([hint("a"), hint("b", "other"), hint("c", "other")]);
  const delivery = exchange.handOut();
  assert.deepEqual([delivery?.hint, exchange.handOut(), exchange.handOut(0)], [hint("b", "other"), null, null]);
  assert.deepEqual(exchange.running, [delivery]);
  held.resolve("done");
  await delivery?.ended;
  assert.deepEqual(exchange.running, []);
  assert.deepEqual(exchange.handOut(1)?.hint, hint("c", "other"));
});

Deno.test("onPublish decides what becomes of each hint", async () => {
  const clock = virtualClock();
  const exchange = fakeExchange({ clock });
  const names = () => exchange.hints.map((one) => one.executionId);
  for (const fate of ["keep", "lose", "duplicate", "overtake", "hold", { delayMs: 1_000 }] as const) {
    exchange.onPublish = () => fate;
    const name = typeof fate === "string" ? fate : "delay";
    assert.deepEqual(await exchange.publish([hint(name)]), ["sent"]);
  }
  assert.deepEqual(names(), ["overtake", "keep", "duplicate", "duplicate"]);
  exchange.release();
  await clock.advance(1_000);
  assert.deepEqual(names(), ["overtake", "keep", "duplicate", "duplicate", "hold", "delay"]);
  assert.equal(exchange.sent.length, 6);
});

Deno.test("onPublish can tell the publisher what is not true", async () => {
  const exchange = fakeExchange({ onPublish: () => ({ fate: "keep", answer: "unreached" }) });
  assert.deepEqual(await exchange.publish([hint("a")]), ["unreached"]);
  assert.deepEqual(exchange.hints, [hint("a")]);
});

Deno.test("fakeExchange() drops a hint that reaches nothing", async () => {
  const exchange = fakeExchange({ reaches: (_partition, consumers) => consumers > 0 });
  assert.equal(exchange.reaches("default"), false);
  assert.deepEqual(await exchange.publish([hint("a")]), ["unreached"]);
  await exchange.consume("default", () => DONE, options());
  assert.deepEqual(await exchange.publish([hint("b")]), ["sent"]);
  assert.deepEqual(exchange.hints, [hint("b")]);
});

Deno.test("hints can be taken out, repeated and reordered by hand", async () => {
  const exchange = fakeExchange();
  const received: string[] = [];
  await exchange.consume("default", ({ executionId }) => {
    received.push(executionId);
    return DONE;
  }, options());
  await exchange.publish(["a", "b", "c"].map((id) => hint(id)));
  exchange.hints.shift();
  exchange.hints.reverse();
  exchange.hints.push(hint("b"));
  while (await exchange.deliverNext() !== null);
  assert.deepEqual(received, ["c", "b", "b"]);
});

Deno.test("close() cancels what was delayed", async () => {
  const clock = virtualClock();
  const exchange = fakeExchange({ clock, onPublish: () => ({ delayMs: 5 }) });
  await exchange.publish([hint("a")]);
  await exchange.close();
  assert.equal(clock.pending, 0);
});

Deno.test("fakeExchange() needs a clock to delay a hint", async () => {
  await assert.rejects(fakeExchange({ onPublish: () => ({ delayMs: 5 }) }).publish([hint("a")]), /give .* a clock/);
});
