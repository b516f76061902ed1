import assert from "node:assert/strict";
import type { Queries } from "../src/queries.ts";
import { memoryStore } from "../stores/memory.ts";
import { BROKEN_QUERIES } from "./broken_queries.ts";
import { queryConformance } from "./query_conformance.ts";

interface Case {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** The suite's cases against a memory store whose queries are as they are, or wrapped. */
function casesOf(wrap: (queries: Queries) => Partial<Queries>): readonly Case[] {
  const cases: Case[] = [];
  queryConformance((name, run) => cases.push({ name, run }), {
    open: () => {
      const store = memoryStore();
      const queries = { ...store.queries!, ...wrap(store.queries!) };
      const wrapped = new Proxy(store, {
        get(target, property) {
          if (property === "queries") return queries;
          const value = Reflect.get(target, property, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
      return Promise.resolve({ first: wrapped, second: wrapped, close: () => store.close() });
    },
  });
  return cases;
}

for (const { name, run } of casesOf(() => ({}))) Deno.test(`memory: queries: ${name}`, run);

for (const { fault, caughtBy, wrap } of BROKEN_QUERIES) {
  Deno.test(`queryConformance() rejects a store that ${fault}`, async () => {
    const cases = casesOf(wrap).filter(({ name }) => caughtBy.includes(name));
    assert.deepEqual(cases.map(({ name }) => name).toSorted(), caughtBy.toSorted());
    for (const { name, run } of cases) await assert.rejects(run(), assert.AssertionError, `not noticed by: ${name}`);
  });
}

Deno.test("queryConformance() gives each case a name of its own", () => {
  const names = casesOf(() => ({})).map(({ name }) => name);
  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
});

Deno.test("queryConformance() rejects a store that has no queries", async () => {
  const cases: Case[] = [];
  queryConformance((name, run) => cases.push({ name, run }), {
    open: () => {
      const { queries: _, ...store } = { ...memoryStore(), close: () => Promise.resolve() };
      return Promise.resolve({ first: store as never, second: store as never, close: () => Promise.resolve() });
    },
  });
  await assert.rejects(cases[0]!.run(), /the store has no queries/);
});
