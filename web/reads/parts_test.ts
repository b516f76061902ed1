import assert from "node:assert/strict";
import { Kept } from "./parts.ts";
import { Renewals } from "./renewals.ts";

const KEEPING = { forMs: 10, atMostMs: 100 };

function counting() {
  let reads = 0;
  const renewals = new Renewals();
  return { kept: new Kept<number>(renewals), renewals, read: () => Promise.resolve(++reads), reads: () => reads };
}

Deno.test("Kept gives what is new enough, and once more what is older before it is read anew", async () => {
  const { kept, renewals, read, reads } = counting();
  const at = (now: number) => kept.get("", { now, ...KEEPING }, read);
  assert.equal(await at(0), 1);
  assert.equal(await at(9), 1);
  assert.deepEqual(await Promise.all([at(50), at(50)]), [1, 1], "nobody waits for what is read");
  assert.equal(reads(), 1, "it is read when the answer is out");
  await renewals.begin();
  assert.equal(await at(51), 2);
  assert.equal(await at(200), 3, "what is too old is not given");
});

Deno.test("Kept keeps no answer that failed, and goes on with the old one until it is too old", async () => {
  const { kept, renewals, read } = counting();
  const fails = () => Promise.reject(new Error("gone"));
  await assert.rejects(kept.get("", { now: 0, ...KEEPING }, fails), /gone/);
  assert.equal(await kept.get("", { now: 0, ...KEEPING }, read), 1);
  assert.equal(await kept.get("", { now: 50, ...KEEPING }, fails), 1);
  await renewals.begin();
  assert.equal(await kept.get("", { now: 60, ...KEEPING }, fails), 1);
  await renewals.begin();
  await assert.rejects(kept.get("", { now: 160, ...KEEPING }, fails), /gone/);
});

Deno.test("Kept lets go of what is too old to be given", async () => {
  const { kept, read } = counting();
  const at = (key: string, now: number) => kept.get(key, { now, ...KEEPING }, read);
  for (let minute = 0; minute < 1_000; minute++) await at(`${minute}`, minute * 60);
  assert.ok(kept.size < 5, `${kept.size} are kept`);
});

Deno.test("Renewals read one after the other, whatever becomes of each", async () => {
  const renewals = new Renewals();
  const order: string[] = [];
  for (const name of ["a", "b", "c"]) {
    renewals.later(async () => {
      order.push(`${name} begins`);
      await Promise.resolve();
      order.push(`${name} ends`);
      if (name === "b") throw new Error("gone");
    });
  }
  assert.deepEqual(order, []);
  assert.equal(renewals.begin(), renewals.begin(), "once");
  await renewals.begin();
  assert.deepEqual(order, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});
