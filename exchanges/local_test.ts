import assert from "node:assert/strict";
import { isSagaError } from "../src/errors.ts";
import type { HandlerAnswer, Hint } from "../src/exchange.ts";
import { exchangeConformance } from "../testing/exchange_conformance.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { localExchange } from "./local.ts";

exchangeConformance((name, run) => Deno.test(`localExchange() ${name}`, run), {
  open: () => localExchange(),
  keepsHints: false,
});

const settle = () => virtualClock().settle();
const DONE: Promise<HandlerAnswer> = Promise.resolve("done");

function hint(executionId: string, epoch = 1): Hint {
  return { executionId, epoch, partition: "default", step: "charge", direction: "execute" };
}

Deno.test("localExchange() hands out hints in order, round its consumers", async () => {
  const exchange = localExchange();
  const consuming = new AbortController();
  const received: string[] = [];
  for (const name of ["x", "y"]) {
    const handler = ({ executionId }: Hint) => {
      received.push(`${name}:${executionId}`);
      return DONE;
    };
    await exchange.consume("default", handler, { concurrency: 5, signal: consuming.signal });
  }
  await exchange.publish(["a", "b", "c", "d"].map((id) => hint(id)));
  await settle();
  assert.deepEqual(received, ["x:a", "y:b", "x:c", "y:d"]);
  await exchange.close();
});

Deno.test("localExchange() merges a hint with one that waits for the same execution and epoch", async () => {
  const exchange = localExchange();
  const held = Promise.withResolvers<HandlerAnswer>();
  const received: string[] = [];
  const handler = ({ executionId, epoch }: Hint) => {
    received.push(`${executionId}/${epoch}`);
    return held.promise;
  };
  await exchange.consume("default", handler, { concurrency: 1, signal: new AbortController().signal });
  await exchange.publish([hint("a")]);
  await settle();
  // The one that is being handled may have looked already: a hint that comes now is not merged with it.
  assert.deepEqual(await exchange.publish([hint("a"), hint("a"), hint("a", 2), hint("b")]), Array(4).fill("sent"));
  assert.deepEqual(await exchange.depth("default"), { ready: 3, consumers: 1 });
  held.resolve("done");
  await settle();
  assert.deepEqual(received, ["a/1", "a/1", "a/2", "b/1"]);
  await exchange.close();
});

Deno.test("localExchange() holds no more than maxWaiting hints of a partition", async () => {
  const exchange = localExchange({ maxWaiting: 2 });
  const never = new Promise<HandlerAnswer>(() => {});
  await exchange.consume("default", () => never, { concurrency: 1, signal: new AbortController().signal });
  assert.deepEqual(await exchange.publish(["a", "b", "c"].map((id) => hint(id))), ["sent", "sent", "unreached"]);
  await exchange.close();
});

Deno.test("localExchange() asks each consumer once about a definition that none knows", async () => {
  const exchange = localExchange();
  let calls = 0;
  for (let n = 0; n < 3; n++) {
    const handler = () => {
      calls++;
      return Promise.resolve<HandlerAnswer>("unknown_definition");
    };
    await exchange.consume("default", handler, { concurrency: 1, signal: new AbortController().signal });
  }
  await exchange.publish([hint("a")]);
  await settle();
  assert.equal(calls, 3);
  assert.deepEqual(await exchange.depth("default"), { ready: 0, consumers: 3 });
  await exchange.close();
});

Deno.test("localExchange() hands out what a leaving consumer was asked about to those that stay", async () => {
  const exchange = localExchange();
  const leaving = new AbortController();
  const busy = Promise.withResolvers<HandlerAnswer>();
  const received: string[] = [];
  const options = { concurrency: 1, signal: new AbortController().signal };
  await exchange.consume("default", () => Promise.resolve("unknown_definition"), options);
  await exchange.consume("default", () => busy.promise, { concurrency: 1, signal: leaving.signal });
  await exchange.publish([hint("a"), hint("b"), hint("c")]);
  await settle();
  assert.deepEqual(await exchange.depth("default"), { ready: 2, consumers: 2 });
  leaving.abort();
  await exchange.consume("default", ({ executionId }) => {
    received.push(executionId);
    return DONE;
  }, options);
  await settle();
  assert.deepEqual(received.sort(), ["a", "c"]);
  busy.resolve("done");
  await exchange.close();
});

Deno.test("localExchange() shares nothing with another one", async () => {
  const one = localExchange();
  const other = localExchange();
  await one.consume("default", () => DONE, { concurrency: 1, signal: new AbortController().signal });
  assert.equal(other.reaches("default"), false);
  assert.deepEqual(await other.publish([hint("a")]), ["unreached"]);
  await one.close();
  await other.close();
});

Deno.test("localExchange() takes 200,000 hints at once in reasonable time", async () => {
  const exchange = localExchange({ maxWaiting: 200_000 });
  let handled = 0;
  const handler = () => {
    handled++;
    return DONE;
  };
  await exchange.consume("default", handler, { concurrency: 50, signal: new AbortController().signal });
  await exchange.publish(Array.from({ length: 200_000 }, (_, n) => hint(`execution-${n}`)));
  await settle();
  assert.equal(handled, 200_000);
  await exchange.close();
});

Deno.test("localExchange() refuses a bad maxWaiting", () => {
  for (const maxWaiting of [0, -1, 1.5, NaN]) {
    assert.throws(() => localExchange({ maxWaiting }), (error) => isSagaError(error, "invalid_options"));
  }
});
