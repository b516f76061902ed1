import assert from "node:assert/strict";
import fc from "fast-check";
import { filterText, parseFilter, type Term, withTerm } from "./filter.ts";

const terms = (text: string): readonly Term[] => {
  const parsed = parseFilter(text);
  assert.equal(parsed.kind, "terms", text);
  return parsed.kind === "terms" ? parsed.terms : [];
};

Deno.test("parseFilter() reads conditions, quotes and bare ids", () => {
  assert.deepEqual(terms('saga:orders.checkout error:"HTTP 502: \\"no\\"" stalled ctx.customer.id:42'), [
    { key: "saga", value: "orders.checkout" },
    { key: "error", value: 'HTTP 502: "no"' },
    { key: "stalled", value: "" },
    { key: "ctx.customer.id", value: "42" },
  ]);
  assert.deepEqual(terms("  order-17 "), [{ key: "id", value: "order-17" }]);
  assert.deepEqual(terms("order-17:a"), [{ key: "id", value: "order-17:a" }]);
  assert.deepEqual(terms(""), []);
});

Deno.test("parseFilter() keeps alternatives of status, and the last of everything else", () => {
  assert.deepEqual(terms("status:failed saga:a status:blocked saga:b status:failed"), [
    { key: "status", value: "blocked" },
    { key: "saga", value: "b" },
    { key: "status", value: "failed" },
  ]);
  assert.deepEqual(withTerm(terms("step:a"), { key: "step", value: "b" }), [{ key: "step", value: "b" }]);
});

Deno.test("parseFilter() says what is wrong and what there is", () => {
  const problem = (text: string) => {
    const parsed = parseFilter(text);
    return parsed.kind === "problem" ? parsed.message : "";
  };
  assert.match(problem("stauts:failed"), /no condition "stauts:"; use saga, status/);
  assert.match(problem("status:broken"), /no status "broken"; use running/);
  assert.match(problem("saga:"), /"saga:" needs a value/);
  assert.match(problem('""'), /An id is missing/);
  assert.match(problem(Array.from({ length: 21 }, (_, at) => `ctx.a${at}:1`).join(" ")), /at most 20/);
});

Deno.test("filterText() gives what is read as the same terms, whatever the values hold", () => {
  const value = fc.string({ unit: "binary", minLength: 1 });
  fc.assert(fc.property(value, value, (error, context) => {
    const given = [{ key: "error", value: error }, { key: "ctx.a.b", value: context }];
    assert.deepEqual(terms(filterText(given)), given);
  }));
});
