import assert from "node:assert/strict";
import type { Store } from "../src/store.ts";
import { memoryStore } from "../stores/memory.ts";
import { sqliteStore } from "../stores/sqlite.ts";
import { BROKEN_STORES } from "./broken_stores.ts";
import type { StoreConformanceOptions } from "./store_conformance.ts";
import { storeConformance } from "./store_conformance.ts";

interface Case {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** The suite's cases against a memory store, as it is or wrapped. */
function casesOf(wrap: (store: Store) => Store, options: Partial<StoreConformanceOptions> = {}): readonly Case[] {
  const cases: Case[] = [];
  storeConformance((name, run) => cases.push({ name, run }), {
    open: () => {
      const store = wrap(memoryStore());
      return Promise.resolve({ first: store, second: store, close: () => store.close() });
    },
    transactional: false,
    ...options,
  });
  return cases;
}

/** A failed comparison, by itself or inside a property; not a fault of the broken store's own making. */
function isFinding(error: unknown): boolean {
  return error instanceof assert.AssertionError ||
    (error instanceof Error && error.message.includes("Property failed"));
}

for (const { fault, caughtBy, wrap } of BROKEN_STORES) {
  Deno.test(`storeConformance() rejects a store that ${fault}`, async () => {
    const cases = casesOf(wrap).filter(({ name }) => caughtBy.includes(name));
    assert.deepEqual(cases.map(({ name }) => name).toSorted(), caughtBy.toSorted());
    for (const { name, run } of cases) await assert.rejects(run(), isFinding, `not noticed by: ${name}`);
  });
}

Deno.test("storeConformance() gives each case a name of its own", () => {
  for (const transactional of [false, true]) {
    const names = casesOf((store) => store, { transactional }).map(({ name }) => name);
    assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
  }
});

Deno.test("storeConformance() tells skip() each case that it leaves out, and why", () => {
  const skipped: string[] = [];
  const all = casesOf((store) => store, { transactional: true, refusesCallsInside: true, conflict: () => new Error() });
  const some = casesOf((store) => store, {
    transactional: true,
    skip: (name, reason) => skipped.push(`${name}: ${reason}`),
  });
  assert.equal(all.length - some.length, 2);
  assert.deepEqual(skipped, [
    "transaction() runs the body again after a conflict, and commits once: " +
    "the suite was given no error of this driver that means a conflict",
    "the store's operations reject with inside_transaction within a body, unless they are given its tx: " +
    "calls beside a transaction use a connection of their own",
  ]);
});

Deno.test("storeConformance() without skip() registers what it leaves out under a name that says so", () => {
  const names = casesOf((store) => store, { transactional: true }).map(({ name }) => name);
  assert.equal(names.filter((name) => name.includes("(left out: ")).length, 2);
});

Deno.test("storeConformance() runs its races on two connections", async () => {
  const races: string[] = [];
  const cases: (() => Promise<void>)[] = [];
  storeConformance((name, run) => {
    if (!/two connections|another connection|(?<!ids )at once|against/.test(name)) return;
    races.push(name);
    cases.push(run);
  }, {
    async open() {
      const folder = await Deno.makeTempDir();
      const [first, second] = [1, 2].map(() => noting(sqliteStore({ path: `${folder}/saga.db` })));
      return {
        first: first!.store,
        second: second!.store,
        async close() {
          used.push([first!.calls(), second!.calls()]);
          await Promise.all([first!.store.close(), second!.store.close()]);
          await Deno.remove(folder, { recursive: true });
        },
      };
    },
    transactional: true,
    refusesCallsInside: true,
  });
  const used: (readonly [number, number])[] = [];
  for (const run of cases) await run();
  assert.ok(races.length >= 12, races.join("\n"));
  assert.deepEqual(races.filter((_, index) => Math.min(...used[index]!) === 0), []);
});

/** Counts the calls of a store, but for the last, which closes it. */
function noting(inner: Store): { readonly store: Store; calls(): number } {
  let calls = 0;
  const count = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const value: unknown = Reflect.get(object, name);
        if (typeof value === "object" && value !== null) return count(value);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          calls++;
          return value.apply(object, args);
        };
      },
    });
  return { store: count(inner), calls: () => calls };
}
