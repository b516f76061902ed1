import assert from "node:assert/strict";
import { rowId, uuidV7, workerOf } from "./chance.ts";
import { T0 } from "./testing_walk.ts";

const BITS = "0123456789abcdef";

Deno.test("uuidV7() holds the time, the version, the counter, the variant and the randomness", () => {
  assert.equal(uuidV7(T0, 0, BITS), "019b76da-a800-7000-8123-456789abcdef");
  assert.equal(uuidV7(T0, 4_095, BITS), "019b76da-a800-7fff-8123-456789abcdef");
});

Deno.test("uuidV7() always has the variant of RFC 9562, whatever the randomness", () => {
  const variants = [...BITS].map((digit) => uuidV7(T0, 0, digit + BITS.slice(1)).charAt(19));
  assert.deepEqual([...new Set(variants)].sort(), ["8", "9", "a", "b"]);
});

Deno.test("uuidV7() cuts microseconds off", () => {
  assert.equal(uuidV7(T0 + 0.999, 0, BITS), uuidV7(T0, 0, BITS));
});

Deno.test("rowId() sorts the rows of one commit in the order in which they were made", () => {
  const chance = { jitter: 0, token: "w/1", bits: BITS };
  const ids = Array.from({ length: 300 }, (_, index) => rowId(T0, chance, index));
  assert.deepEqual([...ids].sort(), ids);
});

Deno.test("workerOf() is what stands before the last slash", () => {
  assert.equal(workerOf("host-1/pid-7/abc"), "host-1/pid-7");
});
