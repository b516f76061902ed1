import assert from "node:assert/strict";
import { pause } from "../clock.ts";
import type { Flow } from "../definition/flow.ts";
import { workflow } from "../definition/workflow.ts";
import { memoryStore } from "../../stores/memory.ts";
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
