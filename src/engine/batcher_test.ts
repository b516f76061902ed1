import assert from "node:assert/strict";
import { virtualClock } from "../../testing/virtual_clock.ts";
import { Batcher, type BatcherOptions } from "./batcher.ts";

/** A batcher of texts whose batches are recorded, and each of which waits until it is let go. */
function held(options: Partial<BatcherOptions<string, string>> = {}) {
  const clock = virtualClock();
  const batches: string[][] = [];
  const holding: (() => void)[] = [];
  const batcher = new Batcher<string, string>({
    run: async (items) => {
      batches.push([...items]);
      await new Promise<void>((resolve) => holding.push(resolve));
      return items.map((item) => item.toUpperCase());
    },
    clock,
    maxItems: 100,
    keyOf: (item) => item.charAt(0),
    isOfOneItem: () => false,
    ...options,
  });
  const letGo = async () => {
    holding.shift()?.();
    await clock.settle();
  };
  return { batcher, batches, clock, letGo };
}

Deno.test("Batcher sends a lone item at once, and answers it", async () => {
  const { batcher, batches, clock, letGo } = held();
  const answer = batcher.submit("a");
  await clock.settle();
  assert.deepEqual(batches, [["a"]]);
  await letGo();
  assert.equal(await answer, "A");
});

Deno.test("Batcher gathers what is submitted at once, and what comes while a batch is in flight", async () => {
  const { batcher, batches, clock, letGo } = held();
  const answers = ["a", "b"].map((item) => batcher.submit(item));
  await clock.settle();
  answers.push(...["c", "d"].map((item) => batcher.submit(item)));
  await clock.settle();
  assert.deepEqual(batches, [["a", "b"]]);
  await letGo();
  assert.deepEqual(batches, [["a", "b"], ["c", "d"]]);
  await letGo();
  assert.deepEqual(await Promise.all(answers), ["A", "B", "C", "D"]);
});

Deno.test("Batcher puts items with one key into different batches, in their order", async () => {
  const { batcher, batches, clock, letGo } = held();
  const answers = ["a1", "a2", "b1", "a3"].map((item) => batcher.submit(item));
  await clock.settle();
  for (const _ of answers) await letGo();
  assert.deepEqual(batches, [["a1", "b1"], ["a2"], ["a3"]]);
  assert.deepEqual(await Promise.all(answers), ["A1", "A2", "B1", "A3"]);
});

Deno.test("Batcher lets items without a key go anywhere, and no batch beyond its size", async () => {
  const { batcher, batches, clock, letGo } = held({ keyOf: () => null, maxItems: 2 });
  const answers = ["a1", "a2", "a3"].map((item) => batcher.submit(item));
  await clock.settle();
  for (const _ of answers) await letGo();
  assert.deepEqual(batches, [["a1", "a2"], ["a3"]]);
  assert.deepEqual(await Promise.all(answers), ["A1", "A2", "A3"]);
});

Deno.test("Batcher tells everybody of a batch what it ran into, and goes on", async () => {
  let isDown = true;
  const { batcher, clock } = held({
    run: (items) => isDown ? Promise.reject(new Error("down")) : Promise.resolve([...items]),
  });
  const answers = ["a", "b"].map((item) => batcher.submit(item));
  const settled = Promise.allSettled(answers);
  await clock.settle();
  assert.deepEqual((await settled).map(({ status }) => status), ["rejected", "rejected"]);
  isDown = false;
  assert.equal(await batcher.submit("c"), "c");
});

Deno.test("Batcher repeats a batch one by one where the error tells of one item", async () => {
  const batches: string[][] = [];
  const { batcher } = held({
    run: (items) => {
      batches.push([...items]);
      return items.includes("bad") ? Promise.reject(new TypeError("bad")) : Promise.resolve([...items]);
    },
    isOfOneItem: (error) => error instanceof TypeError,
  });
  const answers = await Promise.allSettled(["a", "bad", "c"].map((item) => batcher.submit(item)));
  assert.deepEqual(answers.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(batches, [["a", "bad", "c"], ["a"], ["bad"], ["c"]]);
});

Deno.test("Batcher lets those who were answered join the next batch", async () => {
  const { batcher, batches, clock, letGo } = held();
  const first = batcher.submit("a").then(() => batcher.submit("c"));
  await clock.settle();
  const second = batcher.submit("b");
  await letGo();
  assert.deepEqual(batches, [["a"], ["b", "c"]]);
  await letGo();
  assert.deepEqual(await Promise.all([first, second]), ["C", "B"]);
});
