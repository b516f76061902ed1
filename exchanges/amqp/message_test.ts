import fc from "fast-check";
import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import type { Hint } from "../../src/exchange.ts";
import { decodeHint, encodeHint } from "./message.ts";

const good = { execution_id: "order-1", epoch: 1, step: "charge", direction: "execute" };

function reasonOf(body: unknown): string {
  const decoded = decodeHint(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)), "default");
  return decoded.kind === "malformed" ? decoded.reason : "read";
}

Deno.test("encodeHint() writes the id, the epoch, the step and the direction", () => {
  const hint: Hint = { executionId: "order-1", epoch: 1, partition: "slow", step: "charge", direction: "execute" };
  assert.deepEqual(JSON.parse(encodeHint(hint).toString()), good);
});

Deno.test("decodeHint() reads what encodeHint() wrote, whatever the texts are", () => {
  const hints = fc.record({
    executionId: fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
    epoch: fc.nat(),
    partition: fc.constant("default"),
    step: fc.string({ unit: "binary", maxLength: 50 }),
    direction: fc.constantFrom("execute", "compensate"),
  }, { noNullPrototype: true });
  fc.assert(fc.property(hints, (hint) => {
    assert.deepEqual(decodeHint(encodeHint(hint), "default"), { kind: "hint", hint });
  }));
});

Deno.test("decodeHint() leaves fields alone that it does not know", () => {
  assert.equal(reasonOf({ ...good, trace: { a: 1 }, constructor: 1 }), "read");
  assert.equal(reasonOf(`{"__proto__": {"epoch": 3}, ${JSON.stringify(good).slice(1)}`), "read");
});

Deno.test("decodeHint() says what is wrong with a message", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    ["", "it is not JSON in UTF-8"],
    ["{bad", "it is not JSON in UTF-8"],
    ["null", "it is null, not an object"],
    ["[1]", "it is [1], not an object"],
    ['"text"', 'it is "text", not an object'],
    [{}, "execution_id is missing"],
    [{ ...good, execution_id: 7 }, "execution_id is 7"],
    [{ ...good, execution_id: "" }, 'execution_id is ""'],
    [{ ...good, execution_id: "x".repeat(300) }, "execution_id has more than 255 bytes"],
    [{ ...good, epoch: undefined }, "epoch is missing"],
    ...[1.5, -1, "1", null, 2 ** 60].map((epoch): [unknown, string] => [
      { ...good, epoch },
      `epoch is ${JSON.stringify(epoch)}`,
    ]),
    [{ ...good, step: null }, "step is null"],
    [{ ...good, direction: "sideways" }, 'direction is "sideways"'],
    [{ ...good, execution_id: "x".repeat(1_000_000) }, "its 1000067 bytes are more than the 65536 of a hint"],
  ];
  for (const [body, reason] of cases) assert.equal(reasonOf(body), reason);
});

Deno.test("decodeHint() refuses bytes that are no UTF-8 instead of changing them", () => {
  const body = Buffer.concat([Buffer.from('{"execution_id":"'), Buffer.from([0xff]), Buffer.from('"}')]);
  assert.deepEqual(decodeHint(body, "default"), {
    kind: "malformed",
    reason: "it is not JSON in UTF-8",
    isOversized: false,
  });
});
