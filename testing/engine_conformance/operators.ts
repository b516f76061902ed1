/** What operators do, in which state, and what comes of it: retry, compensate, skipStep, terminate, rerun; G29. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import type { StandardSchema } from "../../src/definition/schema.ts";
import { NonRetryable, type SagaErrorCode } from "../../src/errors.ts";
import { type Cases, every, rejects } from "./suite.ts";
import type { World } from "./world.ts";

/** Registers the cases. */
export function operatorCases({ add }: Cases): void {
  for (const [state, answers] of Object.entries(ANSWERS)) {
    for (const [action, answer] of Object.entries(answers)) {
      add(`${action}() of an execution that is ${state}: ${answer}`, async (world) => {
        const { id, node } = await REACH[state as State](world);
        const before = await world.record(id);
        const act = () => ACT[action as Action](node, id);
        if (answer === "accepted" || answer === "nothing") {
          await act();
          const after = await world.record(id);
          if (answer === "nothing") assert.deepEqual(after, before);
          else assert.ok(after.execution.revision > before.execution.revision || action === "signal");
          return;
        }
        const error = await rejects(act, answer, { status: before.execution.status });
        assert.equal(error.details.executionId, id);
        assert.ok(error.message.includes(`"${id}"`), error.message);
        assert.deepEqual((await world.record(id)).execution.revision, before.execution.revision);
      });
    }
  }

  retryCases(add);
  compensateCases(add);
  skipCases(add);
  terminateCases(add);
  rerunCases(add);

  for (const action of ["retry", "compensate", "skipStep", "terminate"] as const) {
    add(
      `G29 of two operators who ${action} at once, one raises the epoch and the other learns of it`,
      async (world) => {
        const { id, node } = await REACH.blocked(world);
        const other = world.node([], { connection: "second" });
        for (const one of [node, other]) {
          one.around.hooks = { before: (call) => call === "commit" ? world.gate("operate").pass() : undefined };
        }
        const both = [node, other].map((one) => ACT[action](one as typeof node, id).then(() => "done", (e) => e.code));
        await world.until(world.gate("operate").arrived(2));
        world.gate("operate").open();
        const answers = (await world.until(Promise.all(both))).toSorted();
        assert.equal(answers.filter((answer) => answer === "done").length, 1, answers.join());
        assert.ok(["wrong_state", "request_pending", "attempt_open"].includes(answers.find((one) => one !== "done")!));
        const operations = await world.operations(id);
        assert.equal(operations.filter((one) => !one.action.startsWith("request_")).length, 1);
        const { execution } = await world.ended(id);
        assert.ok(execution.epoch <= 2);
      },
    );
  }

  add("an operation with the epoch that was looked at is refused once somebody has acted", async (world) => {
    const { id, node } = await REACH.blocked(world);
    const { epoch } = await world.execution(id);
    await node.engine.retry(id, { epoch, actor: "ann" });
    await rejects(node.engine.retry(id, { epoch, actor: "ben" }), "wrong_state", {
      message: /somebody else was faster/,
    });
  });

  add("every operation is audited, with who and why", async (world) => {
    const { id, node } = await REACH.blocked(world);
    await node.engine.skipStep(id, { actor: "ann", reason: "settled by hand", result: { by: "hand" } });
    await world.ended(id);
    const [first, second] = await world.operations(id);
    assert.deepEqual(
      [first?.action, first?.actor, first?.reason, first?.detail],
      ["skip_step", "ann", "settled by hand", { step: "b", direction: "execute", result: { by: "hand" } }],
    );
    assert.deepEqual([second?.action, second?.actor], ["request_carried_out", "ann"]);
  });
}

function retryCases(add: Cases["add"]): void {
  add("retry() goes on from the same step with a full budget, and what was done stays done", async (world) => {
    let isBroken = true;
    const runs: string[] = [];
    const definition = saga("retry.failed")
      .step("a", () => void runs.push("a"))
      .step("b", {
        run: ({ attempt }) => {
          runs.push(`b${attempt}`);
          if (isBroken) throw new Error("down");
        },
        retry: every(1_000, 2),
      });
    const { id, node } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "failed");
    await node.engine.retry(id);
    const again = await world.execution(id);
    assert.deepEqual([again.status, again.epoch, again.failure, again.finishedAt], ["running", 2, null, null]);
    assert.equal((await world.ended(id)).execution.status, "failed");
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual(runs, ["a", "b1", "b2", "b1", "b2", "b1"]);
  });

  add("retry() gives a new deadline", async (world) => {
    let isSlow = true;
    const definition = saga("retry.deadline", { deadline: "1m" })
      .step("a", ({ fail }) => isSlow ? fail("slow") : undefined)
      .sleep("nap", "50s")
      .step("b", () => {});
    const { id, node } = await world.begin(definition);
    await world.ended(id);
    await world.advance("10m");
    isSlow = false;
    const at = world.clock.now();
    await node.engine.retry(id);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.deadlineAt], ["completed", at + 60_000]);
  });

  add("retry() of an undo that gave up goes on undoing, and the first failure stays", async (world) => {
    let isBroken = true;
    const undone: string[] = [];
    const definition = saga("retry.undo")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .step("b", {
        run: () => {},
        undo: () => {
          if (isBroken) throw new NonRetryable("the gateway says no");
          undone.push("b");
        },
      })
      .step("c", ({ fail }) => fail("declined"));
    const { id, node } = await world.begin(definition);
    const { execution: stuck } = await world.ended(id);
    assert.deepEqual(
      [stuck.status, stuck.failure?.message, stuck.compensationFailure?.message, stuck.currentStep],
      ["compensation_failed", "declined", "the gateway says no", "b"],
    );
    isBroken = false;
    await node.engine.retry(id);
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, undone, execution.failure?.message, execution.compensationFailure],
      ["compensated", ["b", "a"], "declined", null],
    );
  });

  add("retry() takes the active slot again, or is refused with its holder", async (world) => {
    let isBroken = true;
    const definition = saga("retry.slot").step("a", ({ fail }) => isBroken ? fail("no") : undefined).waitFor("go");
    const { id, node } = await world.begin(definition, { start: { activeKey: "order-1" } });
    await world.ended(id);
    isBroken = false;
    const { execution: holder } = await node.engine.start(definition, { input: {}, activeKey: "order-1" });
    assert.notEqual(holder.id, id);
    const error = await rejects(node.engine.retry(id), "active_key_taken");
    assert.equal(error.details.holder, holder.id);
    await node.engine.signal(holder.id, "go");
    await world.ended(holder.id);
    await node.engine.retry(id);
    assert.equal((await world.execution(id)).activeSlot, "retry.slot:order-1");
    await node.engine.signal(id, "go");
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.activeSlot], ["completed", null]);
  });

  add("retry() of a backoff that is too long tries at once", async (world) => {
    let runs = 0;
    const definition = saga("retry.backoff").step("a", {
      run: () => {
        if (++runs === 1) throw new Error("once");
      },
      retry: every(86_400_000, 2),
    });
    const { id, node } = await world.begin(definition);
    await world.until(() => runs === 1);
    await world.settle();
    const at = world.clock.now();
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.finishedAt, at);
  });
}

function compensateCases(add: Cases["add"]): void {
  add("compensate() undoes what a terminated execution has done, without its active slot", async (world) => {
    const undone: string[] = [];
    const definition = saga("compensate.failed")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .waitFor("go");
    const { id, node } = await world.begin(definition, { start: { activeKey: "k" } });
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    await node.engine.terminate(id, { reason: "stop" });
    const { execution: other } = await node.engine.start(definition, { input: {}, activeKey: "k" });
    await node.engine.compensate(id, { reason: "clean up" });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, undone, execution.activeSlot], ["compensated", ["a"], null]);
    await node.engine.terminate(other.id);
  });

  add("compensate() with nothing to undo ends as failed", async (world) => {
    const definition = saga("compensate.nothing").step("a", () => {}).waitFor("go");
    const { id, node } = await world.begin(definition);
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    await node.engine.compensate(id, { actor: "ann", reason: "not needed" });
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, execution.failure?.class, execution.failure?.message],
      ["failed", "CompensationRequested", "not needed"],
    );
  });

  add("compensate() asks the open step to stop: its signal aborts, and it costs no attempt", async (world) => {
    const undone: string[] = [];
    const reasons: string[] = [];
    const definition = saga("compensate.abort")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .step("b", {
        run: ({ signal }) =>
          new Promise<void>((_, reject) =>
            signal.addEventListener("abort", () => {
              reasons.push(signal.reason.name);
              reject(signal.reason);
            })
          ),
        undo: ({ written }) => void undone.push(`b ${written}`),
        undoOnFailure: true,
        lease: "3s",
      });
    const { id, node } = await world.begin(definition);
    await world.until(async () => (await world.execution(id)).currentStep === "b");
    await node.engine.compensate(id, { actor: "ann" });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, reasons, undone], [
      "compensated",
      ["CancelRequested"],
      ["b undefined", "a"],
    ]);
    assert.deepEqual(await world.attempts(id), [
      "a#1 succeeded",
      "b#1 interrupted",
      "b^undo#2.1 succeeded",
      "a^undo#2.1 succeeded",
    ]);
  });

  add(
    "compensate() waits for a running pivot, is dropped once it has passed, and the way forward goes on",
    async (world) => {
      let isAborted = false;
      const definition = saga("compensate.pivot")
        .step("a", { run: () => {}, undo: () => {} })
        .pivot("ship", {
          run: async ({ signal }) => {
            signal.addEventListener("abort", () => isAborted = true);
            await world.gate("ship").pass();
          },
          lease: "3s",
        })
        .step("mail", () => ({ mailed: true }));
      const { id, node } = await world.begin(definition);
      await world.until(world.gate("ship").arrived());
      await node.engine.compensate(id, { actor: "ann" });
      await world.advance("10s");
      world.gate("ship").open();
      const { execution } = await world.ended(id);
      assert.deepEqual([execution.status, execution.context, isAborted], ["completed", { mailed: true }, false]);
      const actions = (await world.operations(id)).map(({ action }) => action);
      assert.deepEqual(actions, ["compensate", "request_dropped"]);
    },
  );

  add("compensate() is carried out where a running pivot fails", async (world) => {
    const undone: string[] = [];
    const definition = saga("compensate.pivot.failed")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .pivot("ship", async () => {
        await world.gate("ship").pass();
        throw new Error("no truck");
      });
    const { id, node } = await world.begin(definition);
    await world.until(world.gate("ship").arrived());
    await node.engine.compensate(id, { actor: "ann" });
    world.gate("ship").open();
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, undone], ["compensated", ["a"]]);
    assert.deepEqual((await world.attempts(id)).slice(0, 2), ["a#1 succeeded", "ship#1 failed"]);
  });

  add("compensate() past a completed pivot is refused", async (world) => {
    const definition = saga("compensate.past")
      .step("a", { run: () => {}, undo: () => {} })
      .pivot("ship", () => {})
      .waitFor("go");
    const { id, node } = await world.begin(definition);
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    await rejects(node.engine.compensate(id), "past_pivot", { status: "running" });
    assert.deepEqual((await node.engine.compensationPlan(id)).why, "its pivot has been passed");
    await node.engine.signal(id, "go");
    await world.ended(id);
  });

  add("a second request is refused while the first one waits", async (world) => {
    const definition = saga("compensate.twice").step("a", { run: () => world.gate("a").pass(), undo: () => {} });
    const { id, node } = await world.begin(definition);
    await world.gate("a").arrived();
    await node.engine.compensate(id, { actor: "ann" });
    const error = await rejects(node.engine.compensate(id, { actor: "ben" }), "request_pending");
    assert.match(error.message, /ann has asked to compensate/);
    world.gate("a").open();
    assert.equal((await world.ended(id)).execution.status, "compensated");
  });

  add("a process that does not know the definition can ask to compensate; a worker carries it out", async (world) => {
    const definition = saga("compensate.console").step("a", { run: () => {}, undo: () => {} }).waitFor("go");
    const { id } = await world.begin(definition);
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    const console = world.node([], { connection: "second" });
    await console.engine.compensate(id, { actor: "ann" });
    assert.equal((await world.ended(id)).execution.status, "compensated");
  });

  add("compensationPlan() tells what would be undone, in order, and changes nothing", async (world) => {
    const definition = saga("plan")
      .step("a", { run: () => ({ a: 1 }), undo: () => {} })
      .step("b", () => {})
      .step("c", { run: ({ skip }) => skip("not needed"), undo: () => {} })
      .step("d", { run: () => ({ d: 4 }), undo: () => {} })
      .waitFor("go");
    const { id, node } = await world.begin(definition);
    await world.until(async () => (await world.execution(id)).waitingFor === "go");
    const before = await world.record(id);
    const plan = await node.engine.compensationPlan(id);
    assert.deepEqual([plan.isPossible, plan.why], [true, null]);
    assert.deepEqual(plan.steps.map(({ step, knowledge, written }) => [step, knowledge, written]), [
      ["d", "result", { d: 4 }],
      ["a", "result", { a: 1 }],
    ]);
    assert.deepEqual(await world.record(id), before);
  });
}

function skipCases(add: Cases["add"]): void {
  add("skipStep() with a result goes on as if the step had written it", async (world) => {
    const definition = saga("skip.result")
      .step("a", () => ({ a: new Date() as unknown as string }))
      .step("b", ({ context }) => ({ seen: context.a }));
    const { id, node } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.blockedReason, "not_storable");
    await node.engine.skipStep(id, { actor: "ann", reason: "by hand", result: { a: "2026-01-01" } });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.context, execution.epoch], [
      "completed",
      { a: "2026-01-01", seen: "2026-01-01" },
      2,
    ]);
    assert.deepEqual(await world.attempts(id), ["a#1 failed", "a#2 skipped", "b#2.1 succeeded"]);
  });

  add("skipStep() of an undo that gave up undoes the rest", async (world) => {
    const undone: string[] = [];
    const definition = saga("skip.undo")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .step("b", { run: () => {}, undo: ({ fail }) => fail("cannot") })
      .step("c", ({ fail }) => fail("no"));
    const { id, node } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "compensation_failed");
    await node.engine.skipStep(id, { reason: "refunded by hand" });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, undone], ["compensated", ["a"]]);
  });

  add("skipStep() of the last undo ends as compensated", async (world) => {
    const definition = saga("skip.last")
      .step("a", { run: () => {}, undo: ({ fail }) => fail("cannot") })
      .step("b", ({ fail }) => fail("no"));
    const { id, node } = await world.begin(definition);
    await world.ended(id);
    await node.engine.skipStep(id);
    assert.equal((await world.ended(id)).execution.status, "compensated");
  });

  add("skipStep() refuses a result that JSON would lose", async (world) => {
    const { id, node } = await REACH.blocked(world);
    await rejects(
      () => node.engine.skipStep(id, { result: { at: new Date() } as never }),
      "not_storable",
      { path: "$.at" },
    );
  });

  add("skipStep() over a dead lease records the attempt first", async (world) => {
    const undone: string[] = [];
    const definition = saga("skip.dead")
      .step("a", {
        run: () => {},
        undo: async () => {
          await world.gate("undo a").pass();
          undone.push("late");
        },
      })
      .step("b", ({ fail }) => fail("no"));
    const { id, node: first } = await world.begin(definition);
    await world.until(world.gate("undo a").arrived());
    first.kill();
    const operator = world.node([definition], { connection: "second" });
    await rejects(operator.engine.skipStep(id), "attempt_open");
    await world.advance("31s");
    await operator.engine.skipStep(id, { actor: "ann" });
    operator.work();
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(await world.attempts(id), [
      "a#1 succeeded",
      "b#1 failed",
      "a^undo#1 abandoned",
      "a^undo#2 skipped",
    ]);
  });
}

function terminateCases(add: Cases["add"]): void {
  add(
    "terminate() ends at once, undoes nothing, and the step that was cut off has no effect on the record",
    async (world) => {
      const undone: string[] = [];
      const definition = saga("terminate")
        .step("a", { run: () => {}, undo: () => void undone.push("a") })
        .step("b", {
          run: async () => {
            await world.gate("b").pass();
            return { late: true };
          },
          undo: () => void undone.push("b"),
        });
      const { id, node } = await world.begin(definition, { start: { activeKey: "k" } });
      await world.until(world.gate("b").arrived());
      const { dueAt } = await world.execution(id);
      const ended = await node.engine.terminate(id, { actor: "ann", reason: "enough" });
      assert.deepEqual(
        [ended.status, ended.failure?.class, ended.failure?.message, ended.dueAt, ended.activeSlot],
        ["failed", "Terminated", "enough", dueAt, null],
      );
      world.gate("b").open();
      await world.advance("5m");
      assert.deepEqual([await world.execution(id), undone], [ended, []]);
      assert.deepEqual(await world.attempts(id), ["a#1 succeeded", "b#1 superseded"]);
    },
  );

  for (const action of ["retry", "compensate"] as const) {
    add(`what terminate() cut off opens again by ${action}() only after its lease has ended`, async (world) => {
      const opened: number[] = [];
      const open = () => void opened.push(world.clock.now());
      const definition = saga(`terminate.${action}`).step("a", {
        run: async ({ attempt, execution }) => {
          if (execution.epoch > 1 || attempt > 1) return open();
          await world.gate("a").pass();
        },
        undo: open,
        undoOnFailure: true,
      });
      const { id, node } = await world.begin(definition);
      await world.gate("a").arrived();
      await world.advance("5s");
      const { dueAt } = await node.engine.terminate(id);
      assert.ok(dueAt! > world.clock.now());
      await node.engine[action](id);
      const { execution } = await world.ended(id);
      assert.equal(execution.status, action === "retry" ? "completed" : "compensated");
      assert.ok(opened[0]! >= dueAt!, `opened ${dueAt! - opened[0]!} ms before the end`);
    });
  }

  add("terminate() drops a request that waits", async (world) => {
    const definition = saga("terminate.request").step("a", { run: () => world.gate("a").pass(), undo: () => {} });
    const { id, node } = await world.begin(definition);
    await world.gate("a").arrived();
    await node.engine.compensate(id);
    const { request, status } = await node.engine.terminate(id, { actor: "ann" });
    assert.deepEqual([request, status], [null, "failed"]);
    const last = (await world.operations(id)).at(-1);
    assert.deepEqual(last?.detail, { from: "running", droppedRequest: "compensate" });
  });
}

function rerunCases(add: Cases["add"]): void {
  add("rerun() starts a finished execution's input and resource anew, and says so in its audit", async (world) => {
    const definition = saga<{ n: number }>("rerun").step("a", ({ context }) => ({ doubled: context.n * 2 }));
    const { id, node } = await world.begin(definition, {
      start: { input: { n: 21 }, resource: { type: "Order", id: "7" }, activeKey: "k" },
    });
    await world.ended(id);
    const { execution: again, created } = await node.engine.rerun(id, { actor: "ann", reason: "once more" });
    assert.ok(created && again.id !== id);
    const { execution } = await world.ended(again.id);
    assert.deepEqual(
      [execution.status, execution.context, execution.resourceType, execution.resourceId],
      ["completed", { n: 21, doubled: 42 }, "Order", "7"],
    );
    const [noted] = await world.operations(id);
    assert.deepEqual([noted?.action, noted?.actor, noted?.detail], ["rerun", "ann", { executionId: again.id }]);
    assert.equal((await world.execution(id)).status, "completed");
  });

  add("rerun() does not put what a schema made of the input through the schema again", async (world) => {
    const input: StandardSchema<{ n: number }> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) => {
          const { n } = value as { readonly n: unknown };
          return typeof n === "string" ? { value: { n: Number(n) } } : { issues: [{ message: "n must be text" }] };
        },
      },
    };
    const definition = saga<{ n: number }>("rerun.schema", { input }).step(
      "a",
      ({ context }) => ({ m: context.n + 1 }),
    );
    const { id, node } = await world.begin(definition, { start: { input: { n: "5" } as never } });
    await world.ended(id);
    const { execution } = await node.engine.rerun(id);
    assert.deepEqual((await world.ended(execution.id)).execution.context, { n: 5, m: 6 });
  });

  add("rerun() keeps the active key: where another execution holds it, that one comes back", async (world) => {
    const definition = saga("rerun.key").waitFor("go");
    const { id, node } = await world.begin(definition, { start: { activeKey: "k" } });
    await node.engine.terminate(id);
    const again = await node.engine.rerun(id);
    assert.deepEqual([again.created, again.execution.activeKey], [true, "k"]);
    const twice = await node.engine.rerun(id);
    assert.deepEqual([twice.created, twice.execution.id], [false, again.execution.id]);
    await node.engine.signal(again.execution.id, "go");
    await world.ended(again.execution.id);
  });
}

type State =
  | "running"
  | "running, with an open step"
  | "compensating"
  | "compensating, with an open undo"
  | "blocked"
  | "completed"
  | "compensated"
  | "failed"
  | "compensation_failed";
type Action = "retry" | "compensate" | "skipStep" | "terminate" | "rerun" | "signal";
type Answer = "accepted" | "nothing" | SagaErrorCode;

const ANSWERS: Readonly<Record<State, Readonly<Record<Action, Answer>>>> = {
  "running": {
    retry: "accepted",
    compensate: "accepted",
    skipStep: "wrong_state",
    terminate: "accepted",
    rerun: "wrong_state",
    signal: "accepted",
  },
  "running, with an open step": {
    retry: "attempt_open",
    compensate: "accepted",
    skipStep: "wrong_state",
    terminate: "accepted",
    rerun: "wrong_state",
    signal: "accepted",
  },
  "compensating": {
    retry: "accepted",
    compensate: "nothing",
    skipStep: "accepted",
    terminate: "accepted",
    rerun: "wrong_state",
    signal: "accepted",
  },
  "compensating, with an open undo": {
    retry: "attempt_open",
    compensate: "nothing",
    skipStep: "attempt_open",
    terminate: "accepted",
    rerun: "wrong_state",
    signal: "accepted",
  },
  "blocked": {
    retry: "accepted",
    compensate: "accepted",
    skipStep: "accepted",
    terminate: "accepted",
    rerun: "wrong_state",
    signal: "accepted",
  },
  "completed": {
    retry: "wrong_state",
    compensate: "wrong_state",
    skipStep: "wrong_state",
    terminate: "wrong_state",
    rerun: "accepted",
    signal: "wrong_state",
  },
  "compensated": {
    retry: "wrong_state",
    compensate: "wrong_state",
    skipStep: "wrong_state",
    terminate: "wrong_state",
    rerun: "accepted",
    signal: "wrong_state",
  },
  "failed": {
    retry: "accepted",
    compensate: "accepted",
    skipStep: "wrong_state",
    terminate: "wrong_state",
    rerun: "accepted",
    signal: "wrong_state",
  },
  "compensation_failed": {
    retry: "accepted",
    compensate: "accepted",
    skipStep: "accepted",
    terminate: "wrong_state",
    rerun: "accepted",
    signal: "wrong_state",
  },
};

interface Operated {
  readonly id: string;
  readonly node: ReturnType<World["node"]>;
}

const ACT: Readonly<Record<Action, (node: Operated["node"], id: string) => Promise<unknown>>> = {
  retry: ({ engine }, id) => engine.retry(id, { actor: "ann" }),
  compensate: ({ engine }, id) => engine.compensate(id, { actor: "ann" }),
  skipStep: ({ engine }, id) => engine.skipStep(id, { actor: "ann" }),
  terminate: ({ engine }, id) => engine.terminate(id, { actor: "ann" }),
  rerun: ({ engine }, id) => engine.rerun(id, { actor: "ann" }),
  signal: ({ engine }, id) => engine.signal(id, "hello", null, { actor: "ann" }),
};

/** A saga of which the step `b` and the undo of `a` do what a case wants. */
function operated(what: { readonly b?: () => unknown; readonly undo?: () => unknown } = {}) {
  return saga("operated")
    .step("a", { run: () => {}, undo: () => what.undo?.(), undoRetry: every(3_600_000, 3) })
    .step("b", { run: (async () => await what.b?.()) as () => Promise<void>, retry: every(3_600_000, 3) });
}

function throwing(error: unknown): () => never {
  return () => {
    throw error;
  };
}

async function reached(
  world: World,
  what: Parameters<typeof operated>[0],
  ready: (id: string) => unknown,
): Promise<Operated> {
  const { id, node } = await world.begin(operated(what));
  await world.until(() => ready(id) as boolean | Promise<boolean>);
  return { id, node: node as unknown as Operated["node"] };
}

const REACH: Readonly<Record<State, (world: World) => Promise<Operated>>> = {
  "running": (world) =>
    reached(world, { b: throwing(new Error("later")) }, async (id) => (await world.record(id)).attempts.length === 2),
  "running, with an open step": (world) =>
    reached(world, { b: () => world.gate("b").pass() }, () => world.gate("b").arrivals > 0),
  "compensating": (world) =>
    reached(
      world,
      { b: throwing(new NonRetryable("no")), undo: throwing(new Error("later")) },
      async (id) => (await world.record(id)).attempts.length === 3,
    ),
  "compensating, with an open undo": (world) =>
    reached(
      world,
      { b: throwing(new NonRetryable("no")), undo: () => world.gate("undo").pass() },
      () => world.gate("undo").arrivals > 0,
    ),
  "blocked": (world) => reached(world, { b: () => 7n }, async (id) => (await world.execution(id)).status === "blocked"),
  "completed": (world) => reached(world, {}, async (id) => (await world.execution(id)).status === "completed"),
  "compensated": (world) =>
    reached(
      world,
      { b: throwing(new NonRetryable("no")) },
      async (id) => (await world.execution(id)).status === "compensated",
    ),
  "failed": async (world) => {
    const { id, node } = await world.begin(saga("operated").step("a", ({ fail }) => fail("no")));
    await world.ended(id);
    return { id, node: node as unknown as Operated["node"] };
  },
  "compensation_failed": (world) =>
    reached(
      world,
      { b: throwing(new NonRetryable("no")), undo: throwing(new NonRetryable("never")) },
      async (id) => (await world.execution(id)).status === "compensation_failed",
    ),
};
