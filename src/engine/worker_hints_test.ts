/** What a worker makes of hints: when it reads what they tell of, and when the next one may come. */

import assert from "node:assert/strict";
import { memoryStore } from "../../stores/memory.ts";
import { virtualClock } from "../../testing/virtual_clock.ts";
import type { Definition } from "../definition/definition.ts";
import { saga } from "../definition/saga.ts";
import { workflow } from "../definition/workflow.ts";
import { SagaError } from "../errors.ts";
import type { Exchange, HandlerAnswer, Hint, HintHandler } from "../exchange.ts";
import { Engine } from "./engine.ts";

/** An engine that starts, and another one that works on the hints that a test gives it; what happens is written down. */
async function workOnHints(definition: Definition, { concurrency }: { readonly concurrency: number }) {
  const clock = virtualClock();
  const store = memoryStore({ clock });
  const events: string[] = [];
  const hints: Hint[] = [];
  let handler: HintHandler = () => assert.fail("nothing is consumed");
  const exchange: Exchange = {
    kind: "test",
    reaches: () => true,
    publish: (published) => {
      hints.push(...published);
      return Promise.resolve(published.map(() => "sent"));
    },
    consume: (_partition, given) => {
      handler = given;
      return Promise.resolve();
    },
    depth: () => Promise.resolve(null),
    health: () => Promise.resolve({ ok: true, detail: "" }),
    close: () => Promise.resolve(),
  };
  const load = store.load.bind(store);
  const commit = store.commit.bind(store);
  let isAway = false;
  store.load = (ids) => {
    for (const id of ids) events.push(`${id} is read`);
    return isAway ? Promise.reject(new SagaError("store_unavailable", "it is away")) : load(ids);
  };
  store.commit = async (changes) => {
    const answers = await commit(changes);
    for (const { execution: { id, status, currentStep } } of changes) {
      events.push(`${id} is ${status} at "${currentStep}"`);
    }
    return answers;
  };
  const starting = new Engine({ store, exchange, clock, definitions: [definition] });
  const working = new Engine({ store, exchange, clock, definitions: [definition] });
  working.work({ partitions: { default: { concurrency } } });
  await clock.settle();
  return {
    clock,
    events,
    working,
    /** Whether the store can be read. */
    answers(whether: boolean) {
      isAway = !whether;
    },
    /** Starts an execution and gives its hint to the worker. */
    async give(id: string): Promise<{ readonly handled: Promise<HandlerAnswer> }> {
      await clock.until(starting.start(definition, { id, input: {} }));
      const hint = hints.find(({ executionId }) => executionId === id) ?? assert.fail(`no hint of ${id}`);
      const handled = handler(hint, () => void events.push(`${id} is ending`));
      await clock.settle();
      return { handled };
    },
    async close() {
      await clock.until(starting.close());
      await clock.until(working.close());
    },
  };
}

Deno.test("a worker lets the next hint come before the commit that ends a run", async () => {
  const world = await workOnHints(
    saga("order").step("reserve", () => {}).step("charge", () => {}),
    { concurrency: 1 },
  );
  const { handled } = await world.give("order-1");
  assert.equal(await world.clock.until(handled), "done");
  assert.deepEqual(world.events, [
    "order-1 is read",
    'order-1 is running at "reserve"',
    'order-1 is running at "charge"',
    "order-1 is ending",
    'order-1 is completed at "charge"',
  ]);
  await world.close();
});

Deno.test("a worker lets the next hint come before the commit that leaves a run to its backoff", async () => {
  const failing = saga("order").step("charge", {
    retry: { attempts: 2, delay: 60_000 },
    run: () => {
      throw new Error("declined");
    },
  });
  const world = await workOnHints(failing, { concurrency: 1 });
  const { handled } = await world.give("order-1");
  await world.clock.until(handled);
  assert.deepEqual(world.events.slice(-2), ["order-1 is ending", 'order-1 is running at "charge"']);
  await world.close();
});

Deno.test("a worker says nothing of the end of a workflow's pass, which may go on after any commit", async () => {
  const world = await workOnHints(
    workflow("sign-up", async (flow) => {
      await flow.step("create", () => {});
    }),
    { concurrency: 1 },
  );
  const { handled } = await world.give("sign-up-1");
  await world.clock.until(handled);
  assert.equal(world.events.at(-1), 'sign-up-1 is completed at ""');
  assert.ok(!world.events.includes("sign-up-1 is ending"));
  await world.close();
});

Deno.test("a worker reads what a hint tells of while it waits for a slot, and runs it only in one", async () => {
  const open = Promise.withResolvers<void>();
  const world = await workOnHints(saga("order").step("charge", () => open.promise), { concurrency: 1 });
  const first = await world.give("order-1");
  const second = await world.give("order-2");
  assert.deepEqual(world.events, ["order-1 is read", 'order-1 is running at "charge"', "order-2 is read"]);
  open.resolve();
  await world.clock.until(Promise.all([first.handled, second.handled]));
  assert.equal(world.events.at(-1), 'order-2 is completed at "charge"');
  await world.close();
});

Deno.test("a worker reads again, in its slot, what could not be read while a hint waited for it", async () => {
  const open = Promise.withResolvers<void>();
  const world = await workOnHints(saga("order").step("charge", () => open.promise), { concurrency: 1 });
  const first = await world.give("order-1");
  world.answers(false);
  const second = await world.give("order-2");
  world.answers(true);
  open.resolve();
  const before = world.clock.now();
  await world.clock.until(Promise.all([first.handled, second.handled]));
  assert.equal(world.events.at(-1), 'order-2 is completed at "charge"');
  assert.equal(world.clock.now(), before, "nobody had to wait for a sweep");
  await world.close();
});

Deno.test("a worker whose store is away keeps the hints that it has, and is done with them when it is back", async () => {
  const world = await workOnHints(saga("order").step("charge", () => {}), { concurrency: 1 });
  world.answers(false);
  const { handled } = await world.give("order-1");
  let isDone = false;
  handled.then(() => isDone = true);
  await world.clock.advance("30s");
  assert.equal(isDone, false);
  world.answers(true);
  await world.clock.advance("2s");
  assert.equal(isDone, true);
  assert.equal(world.events.at(-1), 'order-1 is completed at "charge"');
  await world.close();
});

Deno.test("a worker that stops while its store is away gives up the hints that it has", async () => {
  const world = await workOnHints(saga("order").step("charge", () => {}), { concurrency: 1 });
  world.answers(false);
  const { handled } = await world.give("order-1");
  const before = world.clock.now();
  await world.clock.until(world.working.close({ deadline: "1h" }));
  assert.equal(await handled, "done");
  assert.ok(world.clock.now() < before + 60_000);
  await world.close();
});

Deno.test("a worker that stops waits for hints that wait for a slot, and opens nothing for them", async () => {
  const open = Promise.withResolvers<void>();
  const world = await workOnHints(saga("order").step("charge", () => open.promise), { concurrency: 1 });
  const first = await world.give("order-1");
  const second = await world.give("order-2");
  let isClosed = false;
  const closing = world.working.close().then(() => isClosed = true);
  await world.clock.settle();
  assert.equal(isClosed, false);
  open.resolve();
  await world.clock.until(closing);
  await world.clock.until(Promise.all([first.handled, second.handled]));
  assert.equal(world.events.at(-1), 'order-1 is completed at "charge"');
  await world.close();
});
