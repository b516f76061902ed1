import fc from "fast-check";
import assert from "node:assert/strict";
import type { Hint } from "../../src/exchange.ts";
import { decode, encode, isSendable, type Offer, runsOf } from "./message.ts";

const offer = (fields: Partial<Hint> = {}, unknownTo: readonly number[] = []): Offer => ({
  hint: { executionId: "order-1", epoch: 1, partition: "default", step: "charge", direction: "execute", ...fields },
  unknownTo,
});

/** As long as ids, steps and partitions can be. */
const longest = offer({ executionId: "ä".repeat(127), step: "🐇".repeat(50), partition: "p".repeat(200) }, [
  1e7,
  2e7,
  3e7,
]);

Deno.test("encode() keeps every message within what a notification holds, in ASCII", () => {
  const items = Array.from({ length: 1_000 }, (_, n) => ({ offer: n % 3 === 0 ? longest : offer() }));
  const runs = runsOf(items);
  assert.deepEqual(runs.flat(), items);
  for (const run of runs) {
    const offers = run.map((item) => item.offer);
    const payload = encode({ kind: "offers", from: 2 ** 31, batch: Number.MAX_SAFE_INTEGER, offers });
    assert.ok(payload.length <= 7_999, `${payload.length} bytes`);
    // deno-lint-ignore no-control-regex -- it is about these
    assert.match(payload, /^[\x00-\x7f]*$/);
  }
  assert.ok(runs.length < 100, `${runs.length} messages for 1,000 hints`);
});

Deno.test("isSendable() is false of a hint that fits no message", () => {
  assert.equal(isSendable(longest.hint), true);
  assert.equal(isSendable(offer({ executionId: "x".repeat(7_900) }).hint), false);
});

Deno.test("decode() gives back what was encoded, whatever the texts", () => {
  const text = fc.string({ unit: "binary", maxLength: 60 });
  const hint = fc.record<Hint>({
    executionId: text,
    epoch: fc.nat(),
    partition: text,
    step: text,
    direction: fc.constantFrom("execute", "compensate"),
  }, { noNullPrototype: true });
  const offers = fc.array(
    fc.record<Offer>({ hint, unknownTo: fc.array(fc.nat(), { maxLength: 3 }) }, { noNullPrototype: true }),
    {
      maxLength: 5,
    },
  );
  fc.assert(fc.property(offers, fc.nat(), fc.nat(), (offers, from, batch) => {
    const message = { kind: "offers", from, batch, offers } as const;
    assert.deepEqual(decode(encode(message)), message);
  }));
  const answer = { kind: "answer", from: 4, batch: 9, untaken: [0, 3] } as const;
  assert.deepEqual(decode(encode(answer)), answer);
});

Deno.test("decode() is null of what is no message", () => {
  const wrong = [
    "",
    "hello",
    "null",
    "3",
    "[]",
    '{"from":1,"batch":1}',
    '{"from":"1","batch":1,"untaken":[]}',
    '{"from":1,"batch":1.5,"untaken":[]}',
    '{"from":1,"batch":1,"untaken":["0"]}',
    '{"from":1,"batch":1,"offers":[{}]}',
    '{"from":1,"batch":1,"offers":[["p","id",1,"step","sideways",[]]]}',
    '{"from":1,"batch":1,"offers":[["p","id","1","step","execute",[]]]}',
    '{"from":1,"batch":1,"offers":[["p","id",1,"step","execute"]]}',
  ];
  for (const payload of wrong) assert.equal(decode(payload), null, payload);
});
