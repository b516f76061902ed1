import assert from "node:assert/strict";
import type { Hint } from "../../src/exchange.ts";
import { type FakeExchange, fakeExchange } from "../fake_exchange.ts";
import { HintsOnTheWay } from "./tracked_exchange.ts";

const QUIET = { begin() {}, end() {} };

function hint(executionId: string, epoch = 1): Hint {
  return { executionId, epoch, partition: "default", step: "charge", direction: "execute" };
}

/** What a queue with one process at it looks like; its handler is busy until it is told that it is done. */
function queue(fake: FakeExchange, concurrency: number) {
  const hints = new HintsOnTheWay(QUIET);
  const exchange = hints.track(fake);
  const stopping = new AbortController();
  const done = Promise.withResolvers<"done">();
  const consume = () => exchange.consume("default", () => done.promise, { concurrency, signal: stopping.signal });
  return { hints, exchange, consume, stop: () => stopping.abort(), finish: () => done.resolve("done") };
}

Deno.test("HintsOnTheWay counts what waits as soon as somebody consumes, until it is handed out", async () => {
  const fake = fakeExchange();
  const { hints, exchange, consume } = queue(fake, 10);
  await exchange.publish([hint("a"), hint("b")]);
  assert.equal(hints.count, 0, "nobody is there to be handed anything");
  await consume();
  assert.equal(hints.count, 2);
  fake.handOut();
  assert.equal(hints.count, 1);
  fake.handOut();
  assert.equal(hints.count, 0);
});

Deno.test("HintsOnTheWay counts no more than there are free slots", async () => {
  const fake = fakeExchange();
  const { hints, exchange, consume, finish } = queue(fake, 1);
  await consume();
  await exchange.publish([hint("a"), hint("b")]);
  assert.equal(hints.count, 1);
  const delivery = fake.handOut();
  assert.equal(hints.count, 0, "its only slot is taken");
  finish();
  await delivery?.ended;
  assert.equal(hints.count, 1);
});

Deno.test("HintsOnTheWay counts nothing for a consumer that has stopped", async () => {
  const { hints, exchange, consume, stop } = queue(fakeExchange(), 10);
  await consume();
  await exchange.publish([hint("a")]);
  stop();
  assert.equal(hints.count, 0);
});

Deno.test("HintsOnTheWay counts no hint that was unreached, and none that comes again", async () => {
  const fake = fakeExchange();
  const { hints, exchange, consume } = queue(fake, 10);
  await consume();
  fake.onPublish = () => ({ fate: "lose", answer: "unreached" });
  await exchange.publish([hint("lost")]);
  assert.equal(hints.count, 0);
  fake.onPublish = () => "duplicate";
  await exchange.publish([hint("a")]);
  fake.handOut();
  fake.handOut();
  assert.equal(hints.count, 0);
});

Deno.test("HintsOnTheWay counts what a process had in hand when it died for those that are left", async () => {
  const [dying, left] = [fakeExchange(), fakeExchange()];
  const hints = new HintsOnTheWay(QUIET);
  const exchanges = [dying, left].map((fake) => hints.track(fake));
  const { signal } = new AbortController();
  for (const exchange of exchanges) {
    await exchange.consume("default", () => new Promise(() => {}), { concurrency: 1, signal });
  }
  await exchanges[0]!.publish([hint("a")]);
  dying.handOut();
  assert.equal(hints.count, 0);
  await exchanges[0]!.close();
  assert.equal(hints.count, 1);
});
