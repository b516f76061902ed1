/** Sleeps, waits and signals. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import type { StandardSchema } from "../../src/definition/schema.ts";
import { fakeExchange } from "../fake_exchange.ts";
import { type Cases, range, rejects } from "./suite.ts";
import type { World } from "./world.ts";

/** Hours pass in these cases: a sweep every few seconds would take them minutes on a server. */
const RARELY = { node: { sweepInterval: "10m" } } as const;

/** Registers the cases. */
export function pauseCases({ add, addIf }: Cases): void {
  add("a sleep lets its time pass, occupies nobody, and is not begun anew by another worker", async (world) => {
    const definition = saga("sleep").sleep("nap", "1h").step("a", () => {});
    const at = world.clock.now();
    const { id, node, worker } = await world.begin(definition, RARELY);
    await world.advance("40m");
    assert.equal(worker.busy, 0);
    node.kill();
    world.node([definition], { connection: "second" }).work();
    const { execution, attempts } = await world.ended(id, "2h");
    assert.ok(execution.finishedAt! >= at + 3_600_000 && execution.finishedAt! < at + 3_606_000);
    assert.deepEqual([attempts[0]?.kind, attempts[0]?.startedAt], ["sleep", at]);
  });

  add("a wait goes on with the signal of its name, and has its payload in the context", async (world) => {
    const definition = waiting("wait");
    const { id, node } = await world.begin(definition);
    await isWaiting(world, id);
    await world.advance("1h");
    await node.engine.signal(id, "other", "ignored");
    await world.settle();
    assert.equal((await world.execution(id)).waitingFor, "go");
    await node.engine.signal(id, "go", { by: "ann" });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.context], ["completed", { go: { by: "ann" }, seen: { by: "ann" } }]);
  });

  add(
    "a signal that comes before its wait is kept, and taken in the same commit that reaches the wait",
    async (world) => {
      const definition = saga("wait.buffered").step("a", () => world.gate("a").pass()).waitFor("go").step(
        "b",
        () => {},
      );
      const { id, node } = await world.begin(definition);
      await world.gate("a").arrived();
      await node.engine.signal(id, "go", 7);
      assert.deepEqual((await node.engine.signals(id)).map(({ name, payload }) => [name, payload]), [["go", 7]]);
      const { revision } = await world.execution(id);
      world.gate("a").open();
      const { execution, signals } = await world.ended(id);
      assert.deepEqual([execution.context, signals], [{ go: 7 }, []]);
      assert.equal(execution.revision - revision, 2);
    },
  );

  add("signals of one name are taken first come, first served", async (world) => {
    const definition = saga("wait.fifo").step("a", () => world.gate("a").pass()).waitFor("one").waitFor("two");
    const { id, node } = await world.begin(definition);
    await world.gate("a").arrived();
    for (const n of range(3)) await node.engine.signal(id, "two", n);
    for (const n of range(3)) await node.engine.signal(id, "one", n);
    world.gate("a").open();
    const { execution, signals } = await world.ended(id);
    assert.deepEqual([execution.context, signals.map(({ payload }) => payload)], [{ one: 0, two: 0 }, [1, 2, 1, 2]]);
  });

  add("a signal with the id of an earlier one is not stored, also after that one was consumed", async (world) => {
    const definition = saga("wait.duplicate").waitFor("go").waitFor("stop");
    const { id, node } = await world.begin(definition);
    assert.equal(await node.engine.signal(id, "go", 1, { signalId: "mail-1" }), true);
    assert.equal(await node.engine.signal(id, "go", 2, { signalId: "mail-1" }), false);
    await world.until(async () => (await world.execution(id)).waitingFor === "stop");
    assert.equal(await node.engine.signal(id, "stop", 3, { signalId: "mail-1" }), false);
    assert.equal(await node.engine.signal(id, "stop", 4, { signalId: "mail-2" }), true);
    assert.deepEqual((await world.ended(id)).execution.context, { go: 1, stop: 4 });
  });

  add("two who send one signal at once store it once", async (world) => {
    const definition = saga("wait.race").step("a", () => world.gate("a").pass()).waitFor("go");
    const { id, node } = await world.begin(definition);
    const other = world.node([definition], { connection: "second" });
    const sent = await world.until(
      Promise.all([node, other].map(({ engine }) => engine.signal(id, "go", 1, { signalId: "same" }))),
    );
    assert.deepEqual(sent.toSorted(), [false, true]);
    assert.equal((await world.execution(id)).signalsSeen, 1);
    world.gate("a").open();
    await world.ended(id);
  });

  add("a signal that is sent in the worker's process is taken at once", async (world) => {
    const definition = waiting("wait.here");
    const { id, node } = await world.begin(definition);
    await isWaiting(world, id);
    const at = world.clock.now();
    await node.engine.signal(id, "go", 1);
    assert.equal((await world.ended(id)).execution.finishedAt, at);
  });

  add("a signal that another process sent is found by the next sweep", async (world) => {
    const definition = waiting("wait.other");
    const { id } = await world.begin(definition);
    await isWaiting(world, id);
    const other = world.node([], { connection: "second" });
    await other.engine.signal(id, "go", 1);
    const at = world.clock.now();
    await world.ended(id);
    assert.ok(world.clock.now() - at <= 5_000);
  });

  add("a signal that arrives while its wait is being reached wakes it", async (world) => {
    const definition = saga("wait.between").step("a", () => {}).waitFor("go");
    const node = world.node([definition]);
    let isSent = false;
    node.around.hooks = {
      // The commit that leaves it waiting was decided before the signal came.
      before: async (call) => {
        if (call !== "commit" || isSent) return;
        isSent = true;
        await node.engine.signal("between", "go", 1);
      },
    };
    node.work();
    await node.engine.start(definition, { input: {}, id: "between" });
    assert.deepEqual((await world.ended("between")).execution.context, { go: 1 });
  });

  add("a wait that times out fails as WaitTimeout, is not retried, and what was done is undone", async (world) => {
    const undone: string[] = [];
    const definition = saga("wait.timeout")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .waitFor("go", { timeout: "1h" });
    const at = world.clock.now();
    const { id } = await world.begin(definition, RARELY);
    const { execution } = await world.ended(id, "2h");
    assert.deepEqual(
      [execution.status, execution.failure?.class, execution.failure?.at, undone],
      ["compensated", "WaitTimeout", at + 3_600_000, ["a"]],
    );
    assert.deepEqual(await world.attempts(id), ["a#1 succeeded", "go#1 failed", "a^undo#1 succeeded"]);
  });

  add("a signal that was stored before the timeout is taken, however late anybody looks", async (world) => {
    const definition = saga("wait.late").waitFor("go", { timeout: "1h" });
    const { id, node } = await world.begin(definition);
    await isWaiting(world, id);
    node.freeze();
    await world.advance("50m");
    const other = world.node([], { connection: "second" });
    await other.engine.signal(id, "go", "in time");
    await world.advance("1h");
    node.thaw();
    assert.deepEqual((await world.ended(id)).execution.context, { go: "in time" });
  });

  add("a signal that comes as the timeout is being written wins", async (world) => {
    const definition = saga("wait.photo").waitFor("go", { timeout: "1h" });
    const { id, node } = await world.begin(definition, RARELY);
    await isWaiting(world, id);
    let isSent = false;
    node.around.hooks = {
      before: async (call) => {
        if (call !== "commit" || isSent) return;
        isSent = true;
        await world.store.signal({
          id: "row-1",
          executionId: id,
          name: "go",
          payload: "just in time",
          signalId: null,
          operation: null,
        });
      },
    };
    const { execution } = await world.ended(id, "2h");
    assert.deepEqual([execution.status, execution.context], ["completed", { go: "just in time" }]);
  });

  add("a signal that comes as the deadline is being written wins", async (world) => {
    const definition = saga("wait.deadline", { deadline: "1h" }).waitFor("go");
    const { id, node } = await world.begin(definition, RARELY);
    await isWaiting(world, id);
    let isSent = false;
    node.around.hooks = {
      before: async (call) => {
        if (call !== "commit" || isSent) return;
        isSent = true;
        await world.store.signal({
          id: "row-1",
          executionId: id,
          name: "go",
          payload: "just in time",
          signalId: null,
          operation: null,
        });
      },
    };
    const { execution } = await world.ended(id, "2h");
    assert.deepEqual([execution.status, execution.context], ["completed", { go: "just in time" }]);
  });

  add("a signal to an execution that is finished, or unknown, is refused", async (world) => {
    const { id, node } = await world.begin(saga("wait.finished").step("a", () => {}));
    await world.ended(id);
    await rejects(node.engine.signal(id, "go"), "wrong_state", { status: "completed" });
    await rejects(node.engine.signal("nobody", "go"), "not_found");
  });

  add("a signal to a blocked execution is kept, and retry() finds it", async (world) => {
    let isBroken = true;
    const definition = saga("wait.blocked")
      .step("a", () => isBroken ? { at: new Date() as unknown as string } : undefined)
      .waitFor("go");
    const { id, node } = await world.begin(definition);
    await world.ended(id);
    await node.engine.signal(id, "go", 1);
    await world.advance("1h");
    assert.equal((await world.execution(id)).status, "blocked");
    isBroken = false;
    await node.engine.retry(id);
    assert.deepEqual((await world.ended(id)).execution.context, { go: 1 });
  });

  add("retry() of a wait that timed out waits anew", async (world) => {
    const definition = saga("wait.again").waitFor("go", { timeout: "1h" });
    const { id, node } = await world.begin(definition, RARELY);
    assert.equal((await world.ended(id, "2h")).execution.status, "failed");
    await node.engine.retry(id);
    const at = world.clock.now();
    await isWaiting(world, id);
    assert.equal((await world.execution(id)).dueAt, at + 3_600_000);
    await node.engine.signal(id, "go", 1);
    assert.equal((await world.ended(id)).execution.status, "completed");
  });

  add("a payload that the wait's schema refuses is refused where it is sent", async (world) => {
    const schema: StandardSchema<{ ok: boolean }> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) =>
          typeof (value as { ok?: unknown })?.ok === "boolean"
            ? { value: { ok: (value as { ok: boolean }).ok } }
            : { issues: [{ message: "must be a boolean", path: ["ok"] }] },
      },
    };
    const definition = saga("wait.schema").waitFor("check", { schema }).step("a", ({ context }) => ({
      ok: context.check.ok,
    }));
    const { id, node } = await world.begin(definition);
    await rejects(node.engine.signal(id, "check", { ok: "yes" }), "invalid_input", { path: "$.ok" });
    await node.engine.signal(id, "check", { ok: true, more: 1 });
    assert.deepEqual((await world.ended(id)).execution.context, { check: { ok: true }, ok: true });
  });

  add("two sagas that wait for the same name are signalled apart", async (world) => {
    const definition = waiting("wait.apart");
    const { id, node } = await world.begin(definition);
    const { execution: other } = await node.engine.start(definition, { input: {} });
    await isWaiting(world, id);
    await isWaiting(world, other.id);
    await node.engine.signal(other.id, "go", "other");
    await world.ended(other.id);
    assert.equal((await world.execution(id)).waitingFor, "go");
    await node.engine.signal(id, "go", "first");
    assert.deepEqual((await world.ended(id)).execution.context.seen, "first");
  });

  addIf(
    "own exchange",
    "only an awaited signal sends a hint's work anywhere: others cost one look at most",
    async (world) => {
      const definition = waiting("wait.noise");
      const exchange = fakeExchange({ automatic: true });
      const { id, node } = await world.begin(definition, { node: { exchange } });
      await isWaiting(world, id);
      const { revision } = await world.execution(id);
      for (const n of range(5)) await node.engine.signal(id, `noise-${n}`);
      await world.advance("10m");
      assert.ok((await world.execution(id)).revision - revision <= 5);
      await node.engine.signal(id, "go", 1);
      await world.ended(id);
    },
  );
}

function waiting(name: string) {
  return saga(name).waitFor("go").step("a", ({ context }) => ({ seen: context.go }));
}

async function isWaiting(world: World, id: string): Promise<void> {
  await world.until(async () => (await world.execution(id)).waitingFor === "go");
}
