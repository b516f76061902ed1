/** The way back, and the states on it: what is undone, in which order, and what a person has to settle. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import { NonRetryable } from "../../src/errors.ts";
import { type Cases, every, range } from "./suite.ts";

/** Registers the cases. */
export function undoCases({ add }: Cases): void {
  add("a saga whose last step ends is completed, with the fold of what its steps wrote", async (world) => {
    const definition = saga<{ n: number }>("ends")
      .step("a", ({ context }) => ({ a: context.n + 1 }))
      .step("b", () => {})
      .step("c", ({ context }) => ({ c: context.a + 1 }));
    const { id } = await world.begin(definition, { start: { input: { n: 1 } } });
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, execution.context], ["completed", { n: 1, a: 2, c: 3 }]);
    assert.deepEqual(attempts.map(({ result }) => result), [{ a: 2 }, null, { c: 3 }]);
    assert.ok(execution.finishedAt !== null && execution.durationMs === execution.finishedAt - execution.startedAt);
  });

  add("complete() ends the saga where it stands", async (world) => {
    const definition = saga("ends.early")
      .step("a", ({ complete }) => complete("nothing to do"))
      .step("b", () => ({ b: 1 }));
    const { id } = await world.begin(definition);
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, execution.context, attempts[0]?.reason], ["completed", {}, "nothing to do"]);
    assert.equal(attempts.length, 1);
  });

  add("skip() goes on without a result, and what was skipped is not undone", async (world) => {
    const undone: string[] = [];
    const definition = saga("ends.skip")
      .step("a", { run: ({ skip }) => skip("a small order"), undo: () => void undone.push("a") })
      .step("b", { run: () => {}, undo: () => void undone.push("b") })
      .step("c", ({ fail }) => fail("no"));
    const { id } = await world.begin(definition);
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, undone, attempts[0]?.status, attempts[0]?.reason], [
      "compensated",
      ["b"],
      "skipped",
      "a small order",
    ]);
  });

  add("what was done is undone latest first, with what each step wrote and its key", async (world) => {
    const undone: unknown[] = [];
    const undo = ({ written, stepKey, key, attempt }: UndoneStep) =>
      void undone.push({ written, stepKey, key, attempt });
    const definition = saga("undo.order")
      .step("a", { run: () => ({ a: 1 }), undo })
      .step("b", () => ({ b: 2 }))
      .step("c", { run: () => {}, undo })
      .step("d", ({ fail }) => fail("declined"));
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.equal(execution.status, "compensated");
    assert.deepEqual(
      [execution.failure?.class, execution.failure?.message, execution.failure?.step],
      ["Failed", "declined", "d"],
    );
    assert.deepEqual(undone, [
      { written: undefined, stepKey: `${id}:c`, key: `${id}:c:undo`, attempt: 1 },
      { written: { a: 1 }, stepKey: `${id}:a`, key: `${id}:a:undo`, attempt: 1 },
    ]);
  });

  add("a step that fails with nothing to undo ends as failed", async (world) => {
    const definition = saga("undo.nothing").step("a", () => {}).step("b", ({ fail }) => fail("no"));
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.failure?.step], ["failed", "b"]);
  });

  add("a failed step is itself undone under undoOnFailure, without what it wrote", async (world) => {
    const undone: unknown[] = [];
    const definition = saga("undo.on.failure")
      .step("a", { run: () => ({ a: 1 }), undo: ({ written }) => void undone.push(written) })
      .step("b", {
        run: () => {
          throw new NonRetryable("a timeout of the gateway");
        },
        undo: ({ written }) => void undone.push(written),
        undoOnFailure: true,
      });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, [undefined, { a: 1 }]);
  });

  add("a failed step is not undone without undoOnFailure", async (world) => {
    const undone: string[] = [];
    const definition = saga("undo.plain")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .step("b", {
        run: () => {
          throw new NonRetryable("no");
        },
        undo: () => void undone.push("b"),
      });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, ["a"]);
  });

  add(
    "an undo of what may or may not have happened blocks as outcome_unknown, and skipStep() goes on",
    async (world) => {
      const undone: string[] = [];
      let runs = 0;
      const definition = saga("undo.unknown")
        .step("a", { run: () => {}, undo: () => void undone.push("a") })
        .step("b", {
          run: async ({ fail }) => {
            if (++runs === 1) await world.gate("b").pass();
            return fail("second thoughts");
          },
          undo: () => void undone.push("b"),
        });
      const { id, node: first } = await world.begin(definition);
      await world.until(world.gate("b").arrived());
      first.kill();
      const second = world.node([definition], { connection: "second" });
      second.work();
      const { execution: blocked } = await world.ended(id);
      assert.deepEqual(
        [blocked.status, blocked.blockedReason, blocked.direction, blocked.currentStep, undone],
        ["blocked", "outcome_unknown", "compensate", "b", []],
      );
      assert.deepEqual([blocked.failure?.message, blocked.compensationFailure?.class], [
        "second thoughts",
        "OutcomeUnknown",
      ]);
      await second.engine.skipStep(id, { actor: "ann", reason: "it had no effect" });
      assert.equal((await world.ended(id)).execution.status, "compensated");
      assert.deepEqual(undone, ["a"]);
    },
  );

  add("a step that succeeded in a later try is undone by what it wrote, not as unknown", async (world) => {
    const undone: unknown[] = [];
    let runs = 0;
    const definition = saga("undo.known")
      .step("a", {
        run: async () => {
          if (++runs === 1) await world.gate("a").pass();
          return { receipt: runs };
        },
        undo: ({ written }) => void undone.push(written),
      })
      .step("b", ({ fail }) => fail("no"));
    const { id, node: first } = await world.begin(definition);
    await world.gate("a").arrived();
    first.kill();
    world.node([definition], { connection: "second" }).work();
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, [{ receipt: 2 }]);
  });

  add("an undo is tried ten times by default, and then a person is asked", async (world) => {
    let tries = 0;
    const definition = saga("undo.tries")
      .step("a", {
        run: () => {},
        undo: () => {
          tries++;
          throw new Error("down");
        },
      })
      .step("b", ({ fail }) => fail("no"));
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id, "1d");
    assert.deepEqual([execution.status, tries], ["compensation_failed", 10]);
    assert.deepEqual([execution.failure?.message, execution.compensationFailure?.message], ["no", "down"]);
  });

  add("an undo may skip, and cannot complete the execution: that is a bug, which blocks", async (world) => {
    const skips = saga("undo.skips")
      .step("a", { run: () => {}, undo: ({ skip }) => skip("gone already") })
      .step("b", ({ fail }) => fail("no"));
    const completes = saga("undo.completes")
      .step("a", {
        run: () => {},
        undo: (scope) => (scope as unknown as { complete: (why: string) => unknown }).complete("why not"),
        undoRetry: every(1_000, 2),
      })
      .step("b", ({ fail }) => fail("no"));
    const { id } = await world.begin(skips);
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, attempts.at(-1)?.status], ["compensated", "skipped"]);
    const { id: other } = await world.begin(completes);
    const { execution: blocked } = await world.ended(other);
    assert.deepEqual([blocked.status, blocked.blockedReason], ["blocked", "bug"]);
  });

  add("what goes wrong after the pivot blocks as after_pivot, and retry() goes on", async (world) => {
    let isBroken = true;
    const undone: string[] = [];
    const definition = saga("pivot.after")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .pivot("ship", () => {})
      .step("mail", ({ fail }) => isBroken ? fail("no mail") : undefined);
    const { id, node } = await world.begin(definition);
    const { execution: blocked } = await world.ended(id);
    assert.deepEqual(
      [blocked.status, blocked.blockedReason, blocked.failure?.message, undone],
      ["blocked", "after_pivot", "no mail", []],
    );
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.status, "completed");
  });

  add("a pivot that fails is no pivot passed: what came before is undone", async (world) => {
    const undone: string[] = [];
    const definition = saga("pivot.failed")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .pivot("ship", ({ fail }) => fail("no truck"))
      .step("mail", () => {});
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, ["a"]);
  });

  add("a pivot whose worker died may have passed: nothing is undone after it", async (world) => {
    const undone: string[] = [];
    let runs = 0;
    const definition = saga("pivot.crash")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .pivot("ship", async ({ fail }) => {
        if (++runs === 1) await world.gate("ship").pass();
        return fail("no truck");
      });
    const { id, node: first } = await world.begin(definition);
    await world.until(world.gate("ship").arrived());
    first.kill();
    world.node([definition], { connection: "second" }).work();
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.blockedReason, undone], ["blocked", "after_pivot", []]);
  });

  add("steps whose every worker dies block as crashed, or go back under undoOnFailure", async (world) => {
    for (const undoOnFailure of [false, true]) {
      const undone: unknown[] = [];
      const definition = saga(`crashed.${undoOnFailure}`).step("a", {
        run: () => world.gate(`crashed.${undoOnFailure}`).pass(),
        undo: ({ written }) => void undone.push(written),
        undoOnFailure: undoOnFailure as boolean,
        retry: 2,
        lease: "1s",
      });
      const { id, node } = await world.begin(definition, { node: { lease: "1s" } });
      let dead = node;
      const gate = world.gate(definition.name);
      for (const died of range(2)) {
        await world.until(gate.arrived(died + 1));
        dead.kill();
        dead = world.node([definition], { lease: "1s", connection: "second" });
        dead.work();
      }
      const { execution } = await world.ended(id);
      if (undoOnFailure) assert.deepEqual([execution.status, undone], ["compensated", [undefined]]);
      else assert.deepEqual([execution.status, execution.blockedReason], ["blocked", "crashed"]);
    }
  });
}

interface UndoneStep {
  readonly written: unknown;
  readonly stepKey: string;
  readonly key: string;
  readonly attempt: number;
}
