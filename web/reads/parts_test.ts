import assert from "node:assert/strict";
import { Kept } from "./parts.ts";

const KEEPING = { forMs: 10, atMostMs: 100 };

function counting() {
  let reads = 0;
  return { kept: new Kept<number>(), read: () => Promise.resolve(++reads) };
}

Deno.test("Kept gives what is new enough, and once more what is older while it is read anew", async () => {
  const { kept, read } = counting();
  const at = (now: number) => kept.get("", { now, ...KEEPING }, read);
  assert.equal(await at(0), 1);
  assert.equal(await at(9), 1);
  assert.deepEqual(await Promise.all([at(50), at(50)]), [1, 1], "nobody waits for what is read");
  assert.equal(await at(51), 2);
  assert.equal(await at(200), 3, "what is too old is not given");
});

Deno.test("Kept keeps no answer that failed, and goes on with the old one until it is too old", async () => {
  const { kept, read } = counting();
  const fails = () => Promise.reject(new Error("gone"));
  await assert.rejects(kept.get("", { now: 0, ...KEEPING }, fails), /gone/);
  assert.equal(await kept.get("", { now: 0, ...KEEPING }, read), 1);
  assert.equal(await kept.get("", { now: 50, ...KEEPING }, fails), 1);
  await Promise.resolve();
  assert.equal(await kept.get("", { now: 60, ...KEEPING }, fails), 1);
  await assert.rejects(kept.get("", { now: 160, ...KEEPING }, fails), /gone/);
});
