/** Parallels: branches that are recorded by themselves, fail, are tried again, taken over and undone. */

import assert from "node:assert/strict";
import type { Branch, FlowParallel } from "../../src/definition/flow.ts";
import { workflow } from "../../src/definition/workflow.ts";
import { AttemptAborted, StepFailed } from "../../src/errors.ts";
import { type Cases, every, range } from "./suite.ts";

/** Registers the cases. */
export function workflowParallelCases({ add }: Cases): void {
  add("workflow: a parallel runs its branches at once, and returns what each of them did", async (world) => {
    const definition = workflow("parallel", async (flow) => {
      const results = await flow.parallel("both", (p) => ({
        text: p.step(async () => {
          await world.gate("both").pass();
          return "text";
        }),
        list: p.step(async ({ key, execution }) => {
          await world.gate("both").pass();
          return [key === `${execution.id}:both/list`];
        }),
        nothing: p.step(() => world.gate("both").pass()),
        skipped: p.step(({ skip }) => skip("no need")),
      }));
      await flow.sleep("nap", "1s");
      return results;
    });
    const { id, node } = await world.begin(definition);
    await world.gate("both").arrived(3);
    const open = await world.execution(id);
    assert.deepEqual([open.currentStep, open.openKind, open.attempt], ["both", "parallel", 1]);
    const running = (await node.engine.attempts(id)).filter(({ status }) => status === "running");
    assert.ok(running.map(({ stepName }) => stepName).includes("both/text"));
    world.gate("both").open();
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual(execution.output, { text: "text", list: [true], nothing: null, skipped: null });
    assert.deepEqual(
      attempts.map(({ stepName, kind, position, status }) => [stepName, kind, position, status]).toSorted(),
      [
        ["both", "parallel", 0, "succeeded"],
        ["both/list", "branch", 0, "succeeded"],
        ["both/nothing", "branch", 0, "succeeded"],
        ["both/skipped", "branch", 0, "skipped"],
        ["both/text", "branch", 0, "succeeded"],
        ["nap", "sleep", 1, "succeeded"],
      ],
    );
  });

  add("workflow: after a crash only the branches that had not ended run again", async (world) => {
    const ran: string[] = [];
    const branch = (p: FlowParallel<Record<never, never>>, name: string, waits: boolean) =>
      p.step(async ({ attempt }) => {
        ran.push(`${name}#${attempt}`);
        if (waits && attempt === 1) await world.gate(name).pass();
        return name;
      });
    const definition = workflow("parallel.crash", (flow) =>
      flow.parallel("all", (p) => ({
        quick: branch(p, "quick", false),
        slow: branch(p, "slow", true),
        slower: branch(p, "slower", true),
      })));
    const { id, node } = await world.begin(definition);
    await world.gate("slower").arrived();
    await world.until(async () => (await world.attempts(id)).includes("all/quick#1 succeeded"));
    node.kill();
    world.node([definition], { connection: "second" }).work();
    const { execution } = await world.ended(id);
    assert.deepEqual(execution.output, { quick: "quick", slow: "slow", slower: "slower" });
    assert.deepEqual(ran.toSorted(), ["quick#1", "slow#1", "slow#2", "slower#1", "slower#2"]);
    assert.deepEqual((await world.attempts(id)).toSorted(), [
      "all#1 succeeded",
      "all/quick#1 succeeded",
      "all/slow#1 abandoned",
      "all/slow#2 succeeded",
      "all/slower#1 abandoned",
      "all/slower#2 succeeded",
    ]);
  });

  add("workflow: tries that a crash cut off count, and a branch in backoff is not taken for cut off", async (world) => {
    let isKilled = false;
    const definition = workflow("parallel.tries", (flow) =>
      flow.parallel("all", (p) => ({
        doomed: p.step(() => world.gate("doomed").pass(), { retry: every(1_000, 2) }),
        backoff: p.step(({ attempt }) => {
          if (attempt === 1) throw new Error("not yet");
          return attempt;
        }, { retry: every(120_000, 5) }),
      })));
    let { id, node } = await world.begin(definition, { node: { lease: "5s" } });
    for (const died of range(2)) {
      await world.until(world.gate("doomed").arrived(died + 1));
      await world.settle();
      node.kill();
      isKilled = true;
      node = world.node([definition], { connection: "second", lease: "5s" });
      node.work();
    }
    const { execution } = await world.ended(id);
    assert.ok(isKilled);
    assert.deepEqual([execution.status, execution.blockedReason], ["blocked", "crashed"]);
    assert.match(execution.failure?.message ?? "", /"all\/doomed"/);
    const attempts = await world.attempts(id);
    assert.deepEqual(attempts.filter((text) => text.includes("doomed")), [
      "all/doomed#1 abandoned",
      "all/doomed#2 abandoned",
    ]);
    assert.ok(!attempts.some((text) => text.includes("backoff") && text.includes("abandoned")), attempts.join("\n"));
  });

  add("workflow: a branch that fails for good aborts its siblings by their signals", async (world) => {
    const reasons: unknown[] = [];
    const definition = workflow("parallel.failfast", async (flow) => {
      try {
        await flow.parallel("all", (p) => ({
          slow: p.step(({ signal }) =>
            new Promise<null>((_, reject) =>
              signal.addEventListener("abort", () => {
                reasons.push(signal.reason);
                reject(signal.reason);
              })
            )
          ),
          bad: p.step(async ({ fail }) => {
            await world.gate("bad").pass();
            return fail("declined");
          }),
        }));
        return "never";
      } catch (error) {
        assert.ok(error instanceof StepFailed);
        return `${error.step} ${error.errorClass}: ${error.message}`;
      }
    });
    const { id } = await world.begin(definition);
    await world.gate("bad").arrived();
    world.gate("bad").open();
    const { execution } = await world.ended(id);
    assert.equal(execution.output, 'all Failed: Step "all" failed: declined');
    assert.deepEqual(reasons.map((reason) => reason instanceof AttemptAborted && reason.why), ["sibling"]);
    assert.deepEqual(await world.attempts(id), [
      "all/bad#1 failed",
      "all/slow#1 interrupted",
      "all#1 failed",
    ]);
  });

  add("workflow: with failFast false the others go on to their end, and then the parallel fails", async (world) => {
    const definition = workflow("parallel.patient", async (flow) => {
      await flow.parallel("all", (p) => ({
        bad: p.step(({ fail }) => fail("declined")),
        slow: p.step(async ({ signal }) => {
          await world.gate("slow").pass();
          return signal.aborted;
        }),
        retried: p.step(({ attempt }) => {
          if (attempt < 3) throw new Error("not yet");
        }, { retry: every(1_000, 3) }),
      }), { failFast: false });
    });
    const { id } = await world.begin(definition);
    await world.advance("10s");
    world.gate("slow").open();
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, execution.failure?.message, execution.failure?.step], [
      "failed",
      "declined",
      "all",
    ]);
    assert.equal(attempts.find(({ stepName }) => stepName === "all/slow")?.result, false);
    assert.ok((await world.attempts(id)).includes("all/retried#3 succeeded"));
  });

  add("workflow: finished branches are undone last finished first, then the steps before", async (world) => {
    const undone: unknown[] = [];
    const definition = workflow("parallel.undo", async (flow) => {
      await flow.step("before", () => "b", { undo: ({ written }) => void undone.push(["before", written]) });
      await flow.parallel("all", (p) => {
        const branch = (name: string) =>
          p.step(async () => {
            await world.gate(name).pass();
            return name;
          }, { undo: ({ written, key, stepKey }) => void undone.push([written, key, stepKey]) });
        return { x: branch("x"), y: branch("y"), z: branch("z") };
      });
      await flow.step("bad", ({ fail }) => fail("no"));
    });
    const { id } = await world.begin(definition);
    for (const name of ["y", "z", "x"]) {
      await world.until(world.gate(name).arrived());
      world.gate(name).open();
      await world.until(async () => (await world.attempts(id)).includes(`all/${name}#1 succeeded`));
      await world.advance(10);
    }
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, [
      ...["x", "z", "y"].map((name) => [name, `${id}:all/${name}:undo`, `${id}:all/${name}`]),
      ["before", "b"],
    ]);
  });

  add("workflow: the finished branches of a parallel that failed are undone, the failed one is not", async (world) => {
    const undone: string[] = [];
    const definition = workflow("parallel.undo.failed", async (flow) => {
      await flow.step("before", () => {}, { undo: () => void undone.push("before") });
      await flow.parallel("all", (p) => ({
        good: p.step(() => {}, { undo: () => void undone.push("good") }),
        bad: p.step(async ({ fail }) => {
          await world.gate("bad").pass();
          return fail("no");
        }, { undo: () => void undone.push("bad") }),
      }));
    });
    const { id } = await world.begin(definition);
    await world.until(async () => (await world.attempts(id)).includes("all/good#1 succeeded"));
    world.gate("bad").open();
    assert.equal((await world.ended(id)).execution.status, "compensated");
    assert.deepEqual(undone, ["good", "before"]);
  });

  add("workflow: no more branches run at once than the parallel's concurrency", async (world) => {
    let running = 0;
    let most = 0;
    const order: number[] = [];
    const definition = workflow("parallel.bound", async (flow) => {
      const results = await flow.parallel(
        "all",
        (p) =>
          Object.fromEntries(
            range(7).map((n): [string, Branch<number>] => [
              `n${n}`,
              p.step(async () => {
                order.push(n);
                most = Math.max(most, ++running);
                await world.gate("work").pass();
                running--;
                return n;
              }),
            ]),
          ),
        { concurrency: 2 },
      );
      return Object.values(results);
    });
    const { id } = await world.begin(definition);
    for (const left of range(7)) {
      await world.until(() => world.gate("work").arrivals > left);
      await world.settle();
      assert.ok(running <= 2);
      world.gate("work").letOne();
    }
    assert.deepEqual((await world.ended(id)).execution.output, range(7));
    assert.deepEqual([most, order], [2, range(7)]);
  });

  add("workflow: a branch is tried again after its backoff while others run", async (world) => {
    const at: number[] = [];
    const definition = workflow("parallel.retry", (flow) =>
      flow.parallel("all", (p) => ({
        slow: p.step(async () => {
          await world.gate("slow").pass();
          return "slow";
        }),
        flaky: p.step(({ attempt }) => {
          at.push(world.clock.now());
          if (attempt < 3) throw new Error("not yet");
          return attempt;
        }, { retry: every(10_000, 3) }),
      })));
    const { id } = await world.begin(definition);
    await world.until(() => at.length === 3);
    assert.deepEqual(at.slice(1).map((time, index) => time - at[index]!), [10_000, 10_000]);
    world.gate("slow").open();
    assert.deepEqual((await world.ended(id)).execution.output, { slow: "slow", flaky: 3 });
  });

  add("workflow: while no branch runs the parallel is closed until the earliest backoff ends", async (world) => {
    const at: number[] = [];
    const definition = workflow("parallel.backoff", (flow) =>
      flow.parallel("all", (p) => ({
        done: p.step(() => "done"),
        flaky: p.step(({ attempt }) => {
          at.push(world.clock.now());
          if (attempt < 3) throw new Error("not yet");
          return attempt;
        }, { retry: every(60_000, 3) }),
        later: p.step(({ attempt }) => {
          if (attempt < 2) throw new Error("not yet");
          return attempt;
        }, { retry: every(90_000, 2) }),
      })));
    const { id, worker } = await world.begin(definition);
    await world.until(async () => (await world.execution(id)).owner === null);
    const closed = await world.execution(id);
    assert.deepEqual(
      [closed.dueAt, closed.openBranches, closed.attempt, worker.busy],
      [at[0]! + 60_000, null, 0, 0],
    );
    assert.deepEqual((await world.ended(id)).execution.output, { done: "done", flaky: 3, later: 2 });
    assert.ok(at[1]! >= at[0]! + 60_000 && at[1]! <= at[0]! + 66_000, String(at));
  });

  add("workflow: a worker that stops interrupts all branches, and the next one runs them anew", async (world) => {
    const definition = workflow("parallel.stop", (flow) =>
      flow.parallel("all", (p) => {
        const branch = () =>
          p.step(async ({ attempt, signal }) => {
            if (attempt > 1) return attempt;
            return await new Promise<number>((_, reject) =>
              signal.addEventListener("abort", () => reject(signal.reason))
            );
          });
        return { x: branch(), y: branch() };
      }));
    const { id, worker } = await world.begin(definition);
    await world.settle();
    await world.until(worker.stop({ deadline: "1s" }));
    assert.deepEqual((await world.attempts(id)).toSorted(), ["all/x#1 interrupted", "all/y#1 interrupted"]);
    assert.equal((await world.execution(id)).owner, null);
    world.node([definition], { connection: "second" }).work();
    assert.deepEqual((await world.ended(id)).execution.output, { x: 2, y: 2 });
  });

  add("workflow: compensate() asks the running branches to end, and undoes what they did", async (world) => {
    const undone: string[] = [];
    const definition = workflow("parallel.compensate", async (flow) => {
      await flow.parallel("all", (p) => ({
        done: p.step(() => {}, { undo: () => void undone.push("done") }),
        open: p.step(() => world.gate("open").pass(), { undo: () => void undone.push("open") }),
      }));
    });
    const { id, node } = await world.begin(definition);
    await world.until(async () => (await world.attempts(id)).includes("all/done#1 succeeded"));
    await node.engine.compensate(id, { reason: "not needed" });
    await world.settle();
    assert.deepEqual(undone, []);
    world.gate("open").open();
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.failure?.class], ["compensated", "CompensationRequested"]);
    assert.deepEqual(undone, ["open", "done"]);
  });

  add(
    "workflow: the branches of an open parallel are undone, also if a failure before it was caught",
    async (world) => {
      const undone: string[] = [];
      const definition = workflow("parallel.after.caught", async (flow) => {
        await flow.step("a", ({ fail }) => fail("no")).catch(() => {});
        await flow.parallel("all", (p) => ({
          done: p.step(() => {}, { undo: () => void undone.push("done") }),
          open: p.step(async ({ signal }) => {
            await world.gate("open").pass();
            signal.throwIfAborted();
          }),
        }));
      });
      const { id, node, worker } = await world.begin(definition);
      await world.until(async () => (await world.attempts(id)).includes("all/done#1 succeeded"));
      await node.engine.compensate(id);
      const stopped = worker.stop({ deadline: 0 });
      await world.settle();
      world.gate("open").open();
      await world.until(stopped);
      world.node([definition], { connection: "second" }).work();
      assert.equal((await world.ended(id)).execution.status, "compensated");
      assert.deepEqual(undone, ["done"]);
    },
  );

  add("workflow: a parallel that is taken over while its last branch waits is put off until then", async (world) => {
    const at: number[] = [];
    const definition = workflow("parallel.put.off", (flow) =>
      flow.parallel("all", (p) => ({
        flaky: p.step(async ({ attempt }) => {
          if (attempt > 1) return void at.push(world.clock.now());
          await world.gate("flaky").pass();
          at.push(world.clock.now());
          throw new Error("not yet");
        }, { retry: every(120_000, 2) }),
        doomed: p.step(() => world.gate("doomed").pass(), { retry: 1 }),
      }), { failFast: false }));
    const { id, node } = await world.begin(definition);
    await world.until(world.gate("doomed").arrived());
    await world.advance("20s");
    world.gate("flaky").open();
    await world.until(async () => (await world.attempts(id)).includes("all/flaky#1 failed"));
    node.kill();
    world.node([definition], { connection: "second" }).work();
    await world.until(async () => (await world.attempts(id)).includes("all/doomed#1 abandoned"));
    await world.settle();
    const { dueAt, resumeCount } = await world.execution(id);
    assert.deepEqual([dueAt, resumeCount], [at[0]! + 120_000, 0]);
    await world.ended(id);
    assert.ok(at[1]! - at[0]! <= 126_000, String(at));
  });

  add("workflow: terminate() while branches run writes a row for each", async (world) => {
    const definition = workflow("parallel.terminate", async (flow) => {
      await flow.parallel("all", (p) => ({
        x: p.step(() => world.gate("x").pass()),
        y: p.step(() => world.gate("y").pass()),
      }));
    });
    const { id, node } = await world.begin(definition);
    await world.until(world.gate("y").arrived());
    await node.engine.terminate(id, { reason: "enough" });
    assert.deepEqual((await world.attempts(id)).toSorted(), ["all/x#1 superseded", "all/y#1 superseded"]);
    assert.equal((await world.execution(id)).status, "failed");
  });

  add("workflow: a bug in a branch blocks, and retry() runs that branch alone", async (world) => {
    let isBroken = true;
    const ran: string[] = [];
    const caught: unknown[] = [];
    const definition = workflow("parallel.bug", (flow) =>
      flow.parallel("all", (p) => ({
        good: p.step(() => void ran.push("good")),
        bad: p.step(() => {
          ran.push("bad");
          if (isBroken) (undefined as unknown as { x: () => void }).x();
        }, { retry: 1 }),
      })).catch((error) => void caught.push(error)));
    const { id, node } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.blockedReason], ["blocked", "bug"]);
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual([ran.toSorted(), caught], [["bad", "bad", "good"], []]);
  });

  add("workflow: a branch whose result JSON would lose blocks as not_storable", async (world) => {
    const definition = workflow("parallel.lost", async (flow) => {
      await flow.parallel("all", (p) => ({ bad: p.step(() => ({ at: new Date(0) }) as never) }));
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.blockedReason], ["blocked", "not_storable"]);
  });

  add(
    "workflow: a branch that does not stop when it is told to keeps the lease until it is taken over",
    async (world) => {
      const definition = workflow("parallel.stubborn", async (flow) => {
        await flow.parallel("all", (p) => ({
          stubborn: p.step(async ({ attempt }) => {
            if (attempt === 1) await world.gate("stubborn").pass();
          }, { retry: 3, timeout: "5s" }),
        }));
      });
      const { id } = await world.begin(definition, { node: { abortGrace: "1s" } });
      assert.equal((await world.ended(id)).execution.status, "completed");
      assert.deepEqual(await world.attempts(id), [
        "all/stubborn#1 failed",
        "all/stubborn#2 succeeded",
        "all#1 succeeded",
      ]);
    },
  );
}
