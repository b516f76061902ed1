import assert from "node:assert/strict";
import { pause } from "../src/clock.ts";
import type { ExecutionRecord } from "../src/domain/record.ts";
import type { Hint } from "../src/exchange.ts";
import { drain, DrainStallError } from "./drain.ts";
import { aRecord } from "./factories.ts";
import { fakeExchange } from "./fake_exchange.ts";
import { virtualClock } from "./virtual_clock.ts";

/** An exchange, a clock and a store, with a handler in place of a worker. */
async function bench(handle: (hint: Hint, put: (record: ExecutionRecord) => void) => Promise<void> | void) {
  const clock = virtualClock();
  const exchange = fakeExchange();
  const records = new Map<string, ExecutionRecord>();
  const store = { load: (ids: readonly string[]) => Promise.resolve(ids.map((id) => records.get(id) ?? null)) };
  await exchange.consume("default", async (hint) => {
    await handle(hint, (record) => records.set(record.execution.id, record));
    return "done";
  }, { concurrency: 10, signal: new AbortController().signal });
  return { clock, exchange, store, records };
}

function hint(executionId: string, partition = "default"): Hint {
  return { executionId, epoch: 1, partition, step: "reserve", direction: "execute" };
}

/** An execution whose first try has failed, and whose next one is due at an instant. */
function retryingAt(dueAt: number): ExecutionRecord {
  return aRecord({ execution: { attempt: 1, dueAt }, attempts: [{ status: "failed", retryAt: dueAt }] });
}

Deno.test("drain() delivers until nothing waits, also what is published on the way", async () => {
  const { clock, exchange, store } = await bench(async ({ executionId }) => {
    if (executionId !== "c") await exchange.publish([hint(executionId === "a" ? "b" : "c")]);
  });
  await exchange.publish([hint("a")]);
  assert.deepEqual(await drain({ clock, exchange, store }), { deliveries: 3 });
  assert.deepEqual(exchange.delivered.map((one) => one.executionId), ["a", "b", "c"]);
});

Deno.test("drain() retries inline, on virtual time", async () => {
  let tries = 0;
  const { clock, exchange, store } = await bench((_hint, put) => {
    tries++;
    put(tries < 4 ? retryingAt(clock.now() + 60_000 * tries) : aRecord({ execution: { status: "completed" } }));
  });
  const begin = clock.now();
  await exchange.publish([hint("execution-1")]);
  assert.deepEqual(await drain({ clock, exchange, store }), { deliveries: 4 });
  assert.equal(clock.now() - begin, 360_000);
});

Deno.test("drain() leaves sleeps, waits and delayed starts alone", async () => {
  const { clock, exchange, store } = await bench((_hint, put) => {
    put(aRecord({ execution: { currentStep: "cooling_off", dueAt: clock.now() + 900_000 }, attempts: [{}] }));
  });
  const begin = clock.now();
  await exchange.publish([hint("execution-1")]);
  assert.deepEqual(await drain({ clock, exchange, store }), { deliveries: 1 });
  assert.equal(clock.now(), begin);
});

Deno.test("drain() gives virtual time to a delivery that waits for it", async () => {
  const { clock, exchange, store } = await bench(() => pause(clock, 5_000));
  await exchange.publish([hint("a")]);
  const begin = clock.now();
  assert.deepEqual(await drain({ clock, exchange, store }), { deliveries: 1 });
  assert.equal(clock.now() - begin, 5_000);
});

Deno.test("drain() stalls after maxDeliveries and lists what is left", async () => {
  const { clock, exchange, store } = await bench(async () => void await exchange.publish([hint("again")]));
  await exchange.publish([hint("first")]);
  await assert.rejects(drain({ clock, exchange, store, maxDeliveries: 7 }), (error) => {
    assert(error instanceof DrainStallError);
    assert.equal(error.message, "Cannot drain: 7 deliveries were not enough; left: again (execute reserve, waiting)");
    const left = { executionId: "again", step: "reserve", direction: "execute", kind: "waiting", dueAt: null };
    assert.deepEqual(error.left, [left]);
    return true;
  });
  assert.equal(exchange.delivered.length, 7);
});

Deno.test("drain() stalls on a retry that never succeeds", async () => {
  const { clock, exchange, store } = await bench((_hint, put) => put(retryingAt(clock.now() + 1_000)));
  await exchange.publish([hint("execution-1")]);
  await assert.rejects(drain({ clock, exchange, store }), (error) => {
    assert(error instanceof DrainStallError);
    assert.deepEqual(error.left.map(({ kind, dueAt }) => [kind, dueAt]), [["retrying", clock.now() + 1_000]]);
    return true;
  });
  assert.equal(exchange.delivered.length, 50);
});

Deno.test("drain() stalls when nobody consumes what waits", async () => {
  const { clock, exchange, store } = await bench(() => {});
  await exchange.publish([hint("a", "nightly")]);
  await assert.rejects(drain({ clock, exchange, store }), /no consumer takes what waits; left: a /);
});

Deno.test("drain() stalls on a delivery that does not end", async () => {
  const { clock, exchange, store } = await bench(() => new Promise<void>(() => {}));
  await exchange.publish([hint("a")]);
  await assert.rejects(
    drain({ clock, exchange, store }),
    /a delivery does not end; left: a \(execute reserve, running\)/,
  );
});
