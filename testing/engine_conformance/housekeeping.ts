/** Looking after what is stuck, deleting what is done, and what the record is good for: G30. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import { rebuildContext } from "../../src/domain/invariants.ts";
import { anAttempt, anExecution } from "../factories.ts";
import { fakeExchange } from "../fake_exchange.ts";
import { type Cases, every, range } from "./suite.ts";

/** Registers the cases. */
export function housekeepingCases({ add, addIf }: Cases): void {
  addIf("own exchange", "resumeStuck() sends what is overdue another hint, and nothing else", async (world) => {
    const definition = saga("resume").step("a", () => {});
    const later = saga("resume.later").sleep("nap", "1d");
    const exchange = fakeExchange();
    const node = world.node([definition, later], { exchange });
    const { execution } = await node.engine.start(definition, { input: {} });
    await node.engine.start(later, { input: {}, at: world.clock.now() + 86_400_000 });
    exchange.hints.splice(0);
    await world.advance("10m");
    assert.deepEqual(await node.engine.resumeStuck(), { resumed: [], givenUp: [] });
    await world.advance("10m");
    assert.deepEqual(await node.engine.resumeStuck(), { resumed: [execution.id], givenUp: [] });
    assert.deepEqual(exchange.hints.map(({ executionId }) => executionId), [execution.id]);
    assert.deepEqual(await node.engine.resumeStuck(), { resumed: [], givenUp: [] });
  });

  add("resumeStuck() takes at most its limit, the most overdue first", async (world) => {
    const definition = saga("resume.limit").step("a", () => {});
    const node = world.node([definition]);
    for (const n of range(6)) {
      await node.engine.start(definition, { input: {}, id: `stuck-${n}` });
      await world.advance("1m");
    }
    await world.advance("20m");
    const { resumed } = await node.engine.resumeStuck({ limit: 2 });
    assert.deepEqual(resumed.toSorted(), ["stuck-0", "stuck-1"]);
  });

  for (const giveUp of ["block", "compensate"] as const) {
    addIf(
      "own exchange",
      `resumeStuck({ giveUp: "${giveUp}" }) gives up what hints have not moved though a worker lives`,
      async (world) => {
        const undone: string[] = [];
        const stopping = Promise.withResolvers<void>();
        const definition = saga("resume.give")
          .step("a", { run: () => stopping.promise, undo: () => void undone.push("a") })
          .step("b", () => {});
        const node = world.node([definition], { exchange: fakeExchange({ onPublish: () => "lose" }) });
        const worker = node.work();
        const { execution } = await node.engine.start(definition, { input: {} });
        // It does its first step and hands over, by a hint that is lost like all that follow.
        const stopped = worker.stop();
        stopping.resolve();
        await world.until(stopped);
        await world.store.workers.announce({
          id: "idle",
          partitions: ["default"],
          definitions: [{ name: "resume.give", version: 1 }],
          seenAt: world.clock.now(),
          until: world.clock.now() + 86_400_000,
        });
        const seen: string[][] = [];
        for (const _ of range(4)) {
          await world.advance("3h");
          const { resumed, givenUp } = await node.engine.resumeStuck({ maxResumes: 3, giveUp });
          seen.push([...resumed.map(() => "resumed"), ...givenUp.map(() => "given up")]);
        }
        assert.deepEqual(seen, [["resumed"], ["resumed"], ["resumed"], ["given up"]]);
        if (giveUp === "block") {
          const { blockedReason, status } = await world.execution(execution.id);
          assert.deepEqual([status, blockedReason, undone], ["blocked", "not_taken_up", []]);
          await node.engine.retry(execution.id);
          return;
        }
        world.node([definition], { connection: "second" }).work();
        const { execution: done } = await world.ended(execution.id, "1d");
        assert.deepEqual([done.status, undone], ["compensated", ["a"]]);
        const [operation] = await world.operations(execution.id);
        assert.deepEqual([operation?.action, operation?.actor], ["compensate", "resumeStuck"]);
      },
    );
  }

  add(
    'resumeStuck({ giveUp: "compensate" }) parks what is past its pivot, and goes on with the others',
    async (world) => {
      const definition = saga("resume.past")
        .step("a", { run: () => {}, undo: () => {} })
        .pivot("p", () => {})
        .step("b", () => {});
      const now = world.clock.now();
      const stuck = { sagaName: "resume.past", resumeCount: 9, dueAt: now - 7_200_000, wakeAt: now - 7_200_000 };
      const before = { startedAt: now - 9_000_000, lastProgressAt: now - 9_000_000 };
      const past = anExecution({ id: "past", currentStep: "p", ...stuck, ...before });
      await world.store.insert([
        past,
        anExecution({ id: "back", currentStep: "a", ...stuck, ...before, wakeAt: now - 7_000_000 }),
      ]);
      const passed = { ...past, currentStep: "b", revision: past.revision + 1 };
      const row = { executionId: "past", direction: "execute", epoch: 1, attempt: 1, status: "succeeded" } as const;
      const change = {
        execution: passed,
        attempts: [
          anAttempt({ ...row, id: "past-a", stepName: "a", kind: "step", position: 0, undo: "result" }),
          anAttempt({ ...row, id: "past-p", stepName: "p", kind: "pivot", position: 1, undo: "none" }),
        ],
        consumed: [],
        operations: [],
        signalsSeen: null,
        expired: null,
      };
      assert.deepEqual(await world.store.commit([change]), [{ kind: "committed" }]);
      await world.store.workers.announce({
        id: "idle",
        partitions: ["default"],
        definitions: [{ name: "resume.past", version: 1 }],
        seenAt: now,
        until: now + 86_400_000,
      });
      const { engine } = world.node([definition]);
      const { givenUp } = await engine.resumeStuck({ giveUp: "compensate" });
      assert.deepEqual(givenUp.toSorted(), ["back", "past"]);
      assert.deepEqual((await world.execution("past")).blockedReason, "not_taken_up");
      assert.deepEqual((await world.execution("back")).request?.action, "compensate");
    },
  );

  addIf(
    "own exchange",
    "resumeStuck() gives nothing up while no worker lives, however many hints were sent before",
    async (world) => {
      const definition = saga("resume.nobody").step("a", () => {});
      const node = world.node([definition], { exchange: fakeExchange({ onPublish: () => "lose" }) });
      const { execution } = await node.engine.start(definition, { input: {} });
      const filter = { partitions: ["default"], definitions: [{ name: "resume.nobody", version: 1 }], takeOver: true };
      for (const _ of range(8)) {
        await world.advance("3h");
        await world.store.claimDue({ ...filter, now: world.clock.now(), limit: 1, patienceMs: 1_000, counted: true });
      }
      assert.equal((await world.execution(execution.id)).resumeCount, 8);
      await world.advance("3h");
      assert.deepEqual(await node.engine.resumeStuck({ maxResumes: 3 }), { resumed: [execution.id], givenUp: [] });
    },
  );

  add("resumeStuck() leaves every partition its share of the limit", async (world) => {
    const definition = saga("resume.share").step("a", () => {});
    const node = world.node([definition]);
    for (const n of range(9)) {
      const partition = n < 8 ? "full" : "small";
      await node.engine.start(definition, { input: {}, id: `share-${n}`, partition });
    }
    await world.advance("20m");
    const { resumed } = await node.engine.resumeStuck({ limit: 4, partitions: ["full", "small"] });
    assert.ok(resumed.length >= 3 && resumed.includes("share-8"), resumed.join());
  });

  add("prune() deletes what finished before, with everything that belongs to it, and frees its id", async (world) => {
    const definition = saga<{ n: number }>("prune").step("a", () => {});
    const { id, node } = await world.begin(definition, { start: { input: { n: 1 }, id: "old" } });
    await world.ended(id);
    await world.advance("1h");
    await node.engine.start(definition, { input: { n: 1 }, id: "new" });
    await world.ended("new");
    assert.equal(await node.engine.prune({ finishedBefore: world.clock.now() - 60_000 }), 1);
    assert.equal(await node.engine.get("old"), null);
    assert.deepEqual(await world.operations("old"), []);
    assert.equal((await node.engine.get("new"))?.status, "completed");
    const { created } = await node.engine.start(definition, { input: { n: 2 }, id: "old" });
    assert.equal(created, true);
    await world.ended("old");
  });

  add("prune() leaves what is not finished, and by default what did not complete", async (world) => {
    const fails = saga("prune.failed").step("a", ({ fail }) => fail("no"));
    const waits = saga("prune.waits").waitFor("go");
    const blocks = saga("prune.blocks").step("a", () => ({ a: 1n as unknown as number }));
    const node = world.node([fails, waits, blocks]);
    node.work();
    for (const definition of [fails, waits, blocks]) {
      await node.engine.start(definition, { input: {}, id: definition.name });
    }
    await world.advance("1h");
    const finishedBefore = new Date(world.clock.now());
    assert.equal(await node.engine.prune({ finishedBefore }), 0);
    assert.equal(await node.engine.prune({ finishedBefore, statuses: ["failed", "compensated"] }), 1);
    assert.equal(await node.engine.get("prune.failed"), null);
    assert.equal((await node.engine.get("prune.waits"))?.status, "running");
    assert.equal((await node.engine.get("prune.blocks"))?.status, "blocked");
  });

  add("prune() deletes at most its limit, the oldest first", async (world) => {
    const definition = saga("prune.limit").step("a", () => {});
    const node = world.node([definition]);
    node.work();
    for (const n of range(5)) {
      await node.engine.start(definition, { input: {}, id: `done-${n}` });
      await world.ended(`done-${n}`);
      await world.advance("1s");
    }
    const finishedBefore = world.clock.now();
    assert.deepEqual(
      [
        await node.engine.prune({ finishedBefore, limit: 2 }),
        await node.engine.get("done-1"),
        (await node.engine.get("done-2"))?.status,
        await node.engine.prune({ finishedBefore, limit: 2 }),
        await node.engine.prune({ finishedBefore, limit: 2 }),
        await node.engine.prune({ finishedBefore, limit: 2 }),
      ],
      [2, null, "completed", 2, 1, 0],
    );
  });

  add("dispatch() is harmless at any time", async (world) => {
    let runs = 0;
    const definition = saga("dispatch").step("a", async () => {
      runs++;
      await world.gate("a").pass();
    });
    const { id, node } = await world.begin(definition);
    await world.gate("a").arrived();
    await node.engine.dispatch(id);
    await world.settle();
    world.gate("a").open();
    await world.ended(id);
    await node.engine.dispatch(id);
    await world.settle();
    assert.equal(runs, 1);
  });

  add("G30 the record can be rebuilt from the attempts", async (world) => {
    let tries = 0;
    const definition = saga<{ n: number }>("g30")
      .step("a", { run: () => ({ a: { deep: [1] }, n: 2 }), undo: () => {} })
      .step("b", {
        run: () => {
          if (++tries < 3) throw new Error("down");
          return { b: tries };
        },
        retry: every(1_000, 5),
      })
      .step("c", ({ skip }) => skip("no need"))
      .waitFor("go")
      .step("d", () => ({ d: 1n as unknown as number }))
      .step("e", ({ context }) => ({ e: context.d }));
    const { id, node } = await world.begin(definition, { start: { input: { n: 1 } } });
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    await node.engine.signal(id, "go", { by: "ann" });
    await world.ended(id);
    await node.engine.skipStep(id, { result: { d: 4 } });
    const record = await world.ended(id);
    const { execution, attempts } = record;
    assert.equal(execution.status, "completed");
    assert.deepEqual(execution.context, { n: 2, a: { deep: [1] }, b: 3, go: { by: "ann" }, d: 4, e: 4 });
    assert.deepEqual(rebuildContext(record), execution.context);
    // What the context was before each step follows as well, and which steps are done.
    const before = attempts.findIndex((row) => row.stepName === "c");
    assert.deepEqual(rebuildContext({ ...record, attempts: attempts.slice(0, before) }), {
      n: 2,
      a: { deep: [1] },
      b: 3,
    });
    const done = attempts.filter(({ status }) => status === "succeeded" || status === "skipped");
    assert.deepEqual(done.map(({ stepName, position }) => [stepName, position]), [
      ["a", 0],
      ["b", 1],
      ["c", 2],
      ["go", 3],
      ["d", 4],
      ["e", 5],
    ]);
    assert.ok(attempts.every((row, index) => index === 0 || row.finishedAt >= attempts[index - 1]!.finishedAt));
  });
}
