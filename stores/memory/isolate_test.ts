import assert from "node:assert/strict";
import { deepFreeze } from "../../src/domain/json.ts";
import { anExecution } from "../../testing/factories.ts";
import { isolate, isolateExecution } from "./isolate.ts";

Deno.test("isolate() keeps a value that is frozen to its leaves as it is", () => {
  const value = deepFreeze({ lines: [{ sku: "a", count: 1, gift: null, wrapped: true }] });
  assert.equal(isolate(value, null), value);
});

for (
  const [what, value] of Object.entries({
    "a value that is not frozen": { a: 1 },
    "a value that is frozen on its surface only": Object.freeze({ a: { b: 1 } }),
    "a frozen list of what is not": Object.freeze([{ b: 1 }]),
  })
) {
  Deno.test(`isolate() copies ${what}, and freezes the copy`, () => {
    const copy = isolate<unknown>(value, null);
    assert.deepEqual(copy, value);
    assert.notEqual(copy, value);
    assert.ok(Object.isFrozen(copy) && Object.values(copy as object).every(Object.isFrozen));
  });
}

Deno.test("isolate() gives what JSON would give back, also of a frozen value", () => {
  class Money {
    readonly cents = 5;
  }
  const value = deepFreeze({ zero: -0, lost: undefined, money: new Money(), list: [-0, NaN] });
  assert.deepEqual(isolate<unknown>(value, null), { zero: 0, money: { cents: 5 }, list: [0, null] });
});

Deno.test("isolate() does not look again at the parts that are in the stored value", () => {
  let looks = 0;
  const part = new Proxy(deepFreeze({ a: 1 }), {
    ownKeys: (target) => {
      looks++;
      return Reflect.ownKeys(target);
    },
  });
  const stored = Object.freeze({ part });
  const value = Object.freeze({ part, added: 1 });
  assert.equal(isolate<unknown>(value, stored), value);
  assert.equal(looks, 0);
});

Deno.test("isolateExecution() gives a frozen row with the same content", () => {
  const row = isolateExecution(anExecution(), null);
  assert.deepEqual(row, anExecution());
  assert.ok(Object.isFrozen(row) && Object.isFrozen(row.context) && Object.isFrozen(row.input));
});
