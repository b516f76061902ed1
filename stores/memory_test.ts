import assert from "node:assert/strict";
import { systemClock } from "../src/clock.ts";
import { changeOf } from "../src/domain/change.ts";
import { deepFreeze } from "../src/domain/json.ts";
import type { Execution } from "../src/domain/record.ts";
import { anAttempt, aNewSignal, anExecution, aWorker, T0 } from "../testing/factories.ts";
import { storeConformance } from "../testing/store_conformance.ts";
import { memoryStore } from "./memory.ts";

storeConformance((name, run) => Deno.test(`memory: ${name}`, run), {
  open: () => {
    const store = memoryStore();
    return Promise.resolve({ first: store, second: store, close: () => store.close() });
  },
  transactional: false,
});

const FILTER = { partitions: ["default"], definitions: [{ name: "orders.checkout", version: 1 }], takeOver: true };

Deno.test("memoryStore() takes the time from the clock that it is given", async () => {
  const store = memoryStore({ clock: { ...systemClock, now: () => T0 + 5 } });
  await store.insert([anExecution()]);
  assert.equal(await store.now(), T0 + 5);
  assert.deepEqual(await store.signal(aNewSignal()), { kind: "stored", createdAt: T0 + 5 });
});

Deno.test("memoryStore().clear() forgets executions, active slots, wake times and workers", async () => {
  const store = memoryStore();
  const rows = [
    anExecution({ activeKey: "order-1" }),
    anExecution({ id: "missing", status: "blocked", blockedReason: "definition_missing" }),
  ];
  await store.insert(rows);
  await store.workers.announce(aWorker());
  store.clear();
  assert.deepEqual(await store.load(["execution-1", "missing"]), [null, null]);
  assert.equal(await store.nextWake(FILTER), null);
  assert.deepEqual(await store.workers.list(T0), []);
  await store.workers.announce(aWorker());
  const unserved = await store.workers.unserved({ now: T0, overdueSince: T0, limit: 9 });
  assert.deepEqual(unserved, { missing: [], back: [] });
  assert.deepEqual(await store.insert(rows), [{ kind: "inserted" }, { kind: "inserted" }]);
});

Deno.test("memoryStore() hands out what nobody can change", async () => {
  const store = memoryStore();
  await store.insert([anExecution({ context: { deep: { list: [1] } } })]);
  await store.commit([changeOf(anExecution(), {}, { attempts: [anAttempt({ result: { deep: [1] } })] })]);
  await store.signal(aNewSignal());
  const [record] = await store.load(["execution-1"]);
  assert.deepEqual(findMutable(record), []);
});

Deno.test("memoryStore() keeps a frozen context as it is, without copying it", async () => {
  const store = memoryStore();
  const context = deepFreeze({ deep: { list: [1] } });
  await store.insert([anExecution({ context })]);
  const [record] = await store.load(["execution-1"]);
  assert.equal(record?.execution.context, context);
});

Deno.test("memoryStore().commit() rejects a value that no database would take, and writes nothing", async () => {
  const store = memoryStore();
  await store.insert([anExecution()]);
  const context = { cents: 1n } as unknown as Execution["context"];
  const [answer] = await store.commit([changeOf(anExecution(), { context }, { attempts: [anAttempt()] })]);
  assert.ok(answer?.kind === "rejected" && answer.reason === "refused", JSON.stringify(answer));
  const [record] = await store.load(["execution-1"]);
  assert.deepEqual(record, { execution: anExecution(), attempts: [], signals: [] });
});

/** Paths of objects and lists that can be changed. */
function findMutable(value: unknown, path = "$"): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const below = Object.entries(value).flatMap(([key, item]) => findMutable(item, `${path}.${key}`));
  return Object.isFrozen(value) ? below : [path, ...below];
}
