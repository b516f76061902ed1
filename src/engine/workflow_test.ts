import assert from "node:assert/strict";
import { pause } from "../clock.ts";
import type { Flow } from "../definition/flow.ts";
import { workflow } from "../definition/workflow.ts";
import { memoryStore } from "../../stores/memory.ts";
import { sqliteStore } from "../../stores/sqlite.ts";
import { virtualClock } from "../../testing/virtual_clock.ts";
import { Engine } from "./engine.ts";

Deno.test("flow.waitFor() gives what was sent, also for a signal of another name than the step's", async () => {
  const clock = virtualClock();
  const approval = workflow("approval", async (flow) => ({
    renamed: await flow.waitFor("first", { signal: "approved" }),
    any: await flow.waitForAny("second", ["approved"]),
  }));
  const engine = new Engine({ store: memoryStore({ clock }), clock, definitions: [approval] });
  engine.work();
  await engine.start(approval, { id: "a", input: {} });
  for (const by of ["ada", "ben"]) await engine.signal("a", "approved", { by });
  const { output } = await clock.until(engine.wait("a"));
  assert.deepEqual(output, { renamed: { by: "ada" }, any: { signal: "approved", payload: { by: "ben" } } });
  await clock.until(engine.close());
});

Deno.test("a branch that does not stop though its lease is lost is not begun again by the same worker", async () => {
  const clock = virtualClock();
  const store = memoryStore({ clock });
  let begun = 0;
  const deaf = workflow("deaf", async (flow: Flow) => {
    await flow.parallel("both", (parallel) => ({
      slow: parallel.step(async ({ attempt }) => {
        begun++;
        if (attempt === 1) await pause(clock, 600_000);
      }),
      quick: parallel.step(() => {}),
    }));
  });
  const outage = { is: false };
  const renew: typeof store.renew = (leases) =>
    outage.is ? Promise.resolve(leases.map(() => ({ kind: "lost" }) as const)) : store.renew(leases);
  const engine = new Engine({
    store: new Proxy(store, {
      get: (target, key) => {
        if (key === "renew") return renew;
        const own: unknown = Reflect.get(target, key);
        return typeof own === "function" ? own.bind(target) : own;
      },
    }),
    clock,
    definitions: [deaf],
  });
  engine.work();
  await engine.start(deaf, { id: "d", input: {} });
  outage.is = true;
  const { status } = await clock.until(engine.wait("d"));
  const attempts = (await engine.attempts("d")).filter(({ stepName }) => stepName === "both/slow");
  assert.deepEqual([status, attempts.map((row) => row.status), begun], ["completed", ["abandoned", "succeeded"], 2]);
  await clock.until(engine.close());
});

Deno.test("a workflow looks once a minute at what it has called, not in a loop", async () => {
  const clock = virtualClock();
  const slow = workflow("slow", async (flow) => {
    await flow.sleep("night", "10m");
    return { woke: true };
  });
  const caller = workflow("caller", async (flow) => await flow.call(slow, {}));
  const engine = new Engine({ store: memoryStore({ clock }), clock, definitions: [slow, caller] });
  engine.work();
  await engine.start(caller, { id: "c", input: {} });
  const { output, revision } = await clock.until(engine.wait("c"));
  assert.deepEqual(output, { woke: true });
  assert.ok(revision < 40, `it was written ${revision} times`);
  await clock.until(engine.close());
});

Deno.test("the undo of a transactional branch runs in a transaction, too", async () => {
  const clock = virtualClock();
  const store = sqliteStore({ path: ":memory:", clock });
  await store.transaction(({ tx }) => tx.query("create table seats (id text)"));
  const booking = workflow("booking", async (flow) => {
    await flow.parallel("seats", (parallel) => ({
      a: parallel.transaction(({ tx }) => tx.query("insert into seats (id) values ('a')").then(() => null), {
        undo: ({ tx }) => tx.query("delete from seats where id = 'a'"),
      }),
    }));
    flow.abort("no room");
  });
  const engine = new Engine({ store, clock, definitions: [booking] });
  engine.work();
  await engine.start(booking, { id: "b", input: {} });
  const { status } = await clock.until(engine.wait("b"));
  const left = await store.transaction(({ tx }) => tx.query("select id from seats"));
  assert.deepEqual([status, left], ["compensated", []]);
  await clock.until(engine.close());
  await store.close();
});

Deno.test("what was called and then terminated with nothing to undo does not keep its caller from being undone", async () => {
  const clock = virtualClock();
  const idle = workflow("idle", async (flow) => await flow.sleep("night", "1h"));
  const caller = workflow("caller", async (flow) => {
    await flow.call(idle, {});
  });
  const engine = new Engine({ store: memoryStore({ clock }), clock, definitions: [idle, caller] });
  engine.work();
  await engine.start(caller, { id: "c", input: {} });
  await clock.advance("1m");
  await engine.terminate("c:idle");
  const { status } = await clock.until(engine.wait("c"));
  const child = await engine.get("c:idle");
  assert.deepEqual([status, child?.status, child?.epoch], ["compensated", "failed", 1]);
  await clock.until(engine.close());
});

Deno.test("a turn that is over begins nothing behind a parallel that a transaction has closed", async () => {
  const clock = virtualClock();
  const store = sqliteStore({ path: ":memory:", clock });
  const seen: number[] = [];
  const chain = workflow("chain", async (flow) => {
    await flow.parallel("first", (parallel) => ({ a: parallel.transaction(() => null) }));
    await flow.parallel("second", (parallel) => ({ a: parallel.transaction(() => pause(clock, 100)) }));
    await flow.step("third", ({ attempt }) => void seen.push(attempt));
  });
  const engine = new Engine({ store, clock, definitions: [chain], turnBudget: 50 });
  engine.work();
  await engine.start(chain, { id: "c", input: {} });
  const { status } = await clock.until(engine.wait("c"));
  assert.deepEqual([status, seen], ["completed", [1]]);
  await clock.until(engine.close());
  await store.close();
});

Deno.test("what is called after a pivot that was skipped is undone with what came before it", async () => {
  const clock = virtualClock();
  const undone: string[] = [];
  const child = workflow("child", async (flow) => {
    await flow.step("a", () => {}, { undo: () => void undone.push("child") });
  });
  const caller = workflow("caller", async (flow) => {
    await flow.step("first", () => {}, { undo: () => void undone.push("first") });
    await flow.pivot("point", ({ skip }) => skip("nothing to decide"));
    await flow.call(child, {});
    flow.abort("no more");
  });
  const engine = new Engine({ store: memoryStore({ clock }), clock, definitions: [child, caller] });
  engine.work();
  await engine.start(caller, { id: "c", input: {} });
  const { status } = await clock.until(engine.wait("c"));
  assert.deepEqual([status, undone], ["compensated", ["child", "first"]]);
  await clock.until(engine.close());
});
