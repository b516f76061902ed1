import assert from "node:assert/strict";
import type { ExecutionRecord } from "../domain/record.ts";
import { anExecution, aRecord } from "../../testing/factories.ts";
import { isSagaError, StepFailed } from "../errors.ts";
import type { Definition, StepCode } from "./definition.ts";
import type { Flow } from "./flow.ts";
import { workflow } from "./workflow.ts";
import { type RunOptions, WorkflowRun } from "./workflow_run.ts";

const EXECUTION = { sagaName: "w", startToken: "0123456789abcdef", currentStep: "", context: {}, input: {} } as const;

type Run = (flow: Flow, input: Record<string, unknown>) => unknown;

/** A pass of the function over rows. */
async function passOf(
  run: Run,
  rows: readonly Partial<ExecutionRecord["attempts"][number]>[] = [],
  options: Partial<RunOptions> = {},
): Promise<WorkflowRun> {
  const definition = workflow("w", run as never) as unknown as Definition;
  const pass = new WorkflowRun(recordOf(rows), {
    definition,
    execution: { id: "execution-1" } as RunOptions["execution"],
    maxJsonBytes: 1_000,
    isBug: (error) => error instanceof TypeError,
    transactional: false,
    callCode: () => ({ call: CODE, result: CODE }),
    ...options,
  });
  await pass.settle();
  return pass;
}

const CODE: StepCode = { run: () => null, undo: null, schema: null };

function recordOf(rows: readonly Partial<ExecutionRecord["attempts"][number]>[]): ExecutionRecord {
  return aRecord({
    execution: EXECUTION,
    attempts: rows.map((row, position) => ({ kind: "step", position, undo: "none", ...row })),
  });
}

function names(pass: WorkflowRun): readonly string[] {
  return pass.plan.steps.map(({ kind, name, position }) => `${position} ${name} (${kind})`);
}

Deno.test("a pass arrives at the first call that is not recorded, and goes on once it is", async () => {
  const seen: unknown[] = [];
  const run: Run = async (flow) => {
    seen.push(await flow.step("a", () => 0));
    seen.push(await flow.step("b", () => 0));
    return seen.length;
  };
  const pass = await passOf(run, [{ stepName: "a", result: { deep: [1] } }]);
  assert.deepEqual([pass.hasArrived, seen, names(pass), pass.plan.end], [
    true,
    [{ deep: [1] }],
    ["0 a (step)", "1 b (step)"],
    { kind: "more" },
  ]);
  assert.deepEqual([...pass.code.keys()], ["a", "b"]);
  const before = recordOf([{ stepName: "a", result: { deep: [1] } }]);
  assert.equal(pass.continue(before), false, "nothing is known of it yet");
  const after = recordOf([{ stepName: "a", result: { deep: [1] } }, { stepName: "b", result: 7 }]);
  assert.equal(pass.continue(after), true);
  assert.equal(pass.hasArrived, false);
  assert.equal(await pass.settle(), true);
  assert.deepEqual([seen, pass.plan.end], [[{ deep: [1] }, 7], { kind: "returned", output: 2 }]);
  await pass.arrival;
});

Deno.test("what a pass gives is a copy each time", async () => {
  const given: { list: number[] }[] = [];
  const run: Run = async (flow, input) => {
    (input.list as number[] | undefined)?.push(9);
    const value = await flow.step("a", () => ({ list: [1] }));
    given.push(value);
    value.list.push(2);
  };
  const rows = [{ stepName: "a", result: { list: [1] } }];
  await passOf(run, rows);
  await passOf(run, rows);
  assert.deepEqual(given, [{ list: [1, 2] }, { list: [1, 2] }]);
  assert.notEqual(given[0], given[1]);
});

Deno.test("a failure that is recorded is thrown as StepFailed, with its class and the error as its cause", async () => {
  let caught: unknown = null;
  const pass = await passOf((flow) => flow.step("a", () => 0).catch((error) => void (caught = error)), [
    { stepName: "a", status: "failed", errorClass: "CardDeclined", errorMessage: "declined" },
    { stepName: "b" },
  ]);
  assert.ok(caught instanceof StepFailed);
  assert.deepEqual([caught.step, caught.errorClass, caught.message], [
    "a",
    "CardDeclined",
    'Step "a" failed: declined',
  ]);
  assert.equal((caught.cause as Error).message, "declined");
  assert.equal(pass.plan.end?.kind, "returned");
});

Deno.test("a failure that is let through is the step's own, also if it was caught in between", async () => {
  const rows = [{ stepName: "a", status: "failed", errorClass: "CardDeclined", errorMessage: "declined" } as const, {
    stepName: "note",
  }];
  const pass = await passOf(async (flow) => {
    try {
      await flow.step("a", () => 0);
    } catch (error) {
      await flow.step("note", () => 0);
      throw error;
    }
  }, rows);
  const { end } = pass.plan;
  assert.deepEqual(end?.kind === "threw" ? [end.step, end.error.class, end.error.message] : end, [
    "a",
    "CardDeclined",
    "declined",
  ]);
});

Deno.test("an error of the function's own is a failure, and a bug makes it unusable", async () => {
  const thrown = await passOf(() => {
    throw new RangeError("too many");
  });
  assert.deepEqual(thrown.plan.end?.kind === "threw" && [thrown.plan.end.step, thrown.plan.end.error.message], [
    null,
    "too many",
  ]);
  const bug = await passOf(() => {
    throw new TypeError("undefined is not a function");
  });
  assert.deepEqual(bug.plan.end?.kind === "unusable" && bug.plan.end.reason, "bug");
  const odd = await passOf(
    () => {
      throw new RangeError("odd");
    },
    [],
    {
      isBug: () => {
        throw new Error("cannot tell");
      },
    },
  );
  assert.equal(odd.plan.end?.kind, "threw");
});

Deno.test("an output that JSON would lose, or that is too large, makes the function unusable", async () => {
  for (const output of [new Map(), "x".repeat(2_000), { at: undefined, list: [undefined] }, 1n]) {
    const { plan } = await passOf(() => output);
    assert.deepEqual(plan.end?.kind === "unusable" && plan.end.reason, "not_storable", typeof output);
  }
  assert.deepEqual((await passOf(() => undefined)).plan.end, { kind: "returned", output: null });
});

Deno.test("what differs from the record makes the function unusable, with both sides in the message", async () => {
  const cases: readonly [Run, readonly Partial<ExecutionRecord["attempts"][number]>[], RegExp][] = [
    [(flow) => flow.step("b", () => 0), [{ stepName: "a" }], /has "a" \(step\) at position 0, .*reaches "b" \(step\)/],
    [(flow) => flow.sleep("a", 1), [{ stepName: "a" }], /has "a" \(step\) at position 0, .*reaches "a" \(sleep\)/],
    [(flow) => flow.step("a", () => 0), [{ stepName: "a", undo: "result" }], /counts on an undo of "a"/],
    [
      (flow) => flow.parallel("p", (p) => ({ x: p.step(() => 0) })),
      [{ stepName: "p/y", kind: "branch" }],
      /has the branch "p\/y", which the function no longer declares/,
    ],
    [
      (flow) => flow.parallel("p", (p) => ({ x: p.step(() => 0), y: p.step(() => 0) })),
      [{ stepName: "p/x", kind: "branch", position: 0 }, { stepName: "p", kind: "parallel", position: 0 }],
      /the parallel "p" has ended without the branch "p\/y"/,
    ],
    [
      (flow) => flow.parallel("p", (p) => ({ x: p.step(() => 0) })),
      [{ stepName: "p/x", kind: "branch", undo: "unknown", status: "abandoned" }],
      /counts on an undo of "p\/x"/,
    ],
  ];
  for (const [run, rows, says] of cases) {
    const { end } = (await passOf(run, rows)).plan;
    assert.equal(end?.kind === "unusable" && end.reason, "recipe_changed");
    assert.match(end?.kind === "unusable" ? end.error.message : "", says);
    assert.match(end?.kind === "unusable" ? end.error.message : "", /^w v1: .*give the changed workflow a new version/);
  }
});

Deno.test("a pivot may have lost the undo that nobody counts on", async () => {
  const { end } =
    (await passOf((flow) => flow.pivot("a", () => 0), [{ stepName: "a", kind: "pivot", undo: "unknown" }]))
      .plan;
  assert.equal(end?.kind, "returned");
});

Deno.test("a parallel gives what its branches returned, or what an operator gave in their place", async () => {
  const run: Run = (flow) => flow.parallel("p", (p) => ({ x: p.step(() => 0), y: p.step(() => 0) }));
  const rows = [
    { stepName: "p/x", kind: "branch", position: 0, status: "failed", errorClass: "E", errorMessage: "" },
    { stepName: "p/x", kind: "branch", position: 0, result: "x" },
    { stepName: "p/y", kind: "branch", position: 0, status: "skipped" },
  ] as const;
  const done = { stepName: "p", kind: "parallel", position: 0 } as const;
  assert.deepEqual((await passOf(run, [...rows, done])).plan.end, { kind: "returned", output: { x: "x", y: null } });
  assert.deepEqual((await passOf(run, [...rows, { ...done, status: "skipped", result: "by hand" }])).plan.end, {
    kind: "returned",
    output: "by hand",
  });
});

Deno.test("a pass that was ended goes no further, whatever its function does", async () => {
  const seen: unknown[] = [];
  const held = Promise.withResolvers<void>();
  const pass = await passOf(async (flow) => {
    await held.promise;
    seen.push("on its way");
    seen.push(await flow.step("a", () => 0));
  }, [{ stepName: "a", result: 1 }]);
  assert.equal(pass.hasArrived, false);
  pass.end();
  held.resolve();
  await pass.settle();
  assert.deepEqual([seen, names(pass), pass.hasArrived], [["on its way"], [], false]);
});

Deno.test("a call that is refused never settles, makes the function unusable, and is told of", async () => {
  const settled: string[] = [];
  const told: string[] = [];
  const held = Promise.withResolvers<void>();
  const pass = await passOf(async (flow) => {
    const first = flow.step("a", () => 0);
    await held.promise;
    for (const call of [flow.step("b", () => 0), flow.sleep("c", 1), flow.call({} as never, {})]) {
      call.then(() => settled.push("resolved"), () => settled.push("rejected"));
    }
    await first;
  });
  const stop = pass.onRefusal(({ class: name, message }) => told.push(`${name}: ${message}`));
  held.resolve();
  await pass.settle();
  await new Promise((resolve) => setTimeout(resolve));
  stop();
  assert.deepEqual(settled, []);
  assert.equal(told.length, 1);
  assert.match(told[0]!, /^WorkflowMisuse: Cannot run workflow "w": step "b" was called while "a" was still running/);
  assert.equal(pass.plan.end?.kind, "unusable");
});

Deno.test("flow.abort() ends the pass, whatever becomes of what it throws", async () => {
  let thrown: unknown = null;
  const pass = await passOf(async (flow) => {
    try {
      flow.abort("no");
    } catch (error) {
      thrown = error;
    }
    await flow.step("a", () => 0);
  });
  assert.ok(isSagaError(thrown, "blocked"));
  const { end, steps } = pass.plan;
  assert.deepEqual([end?.kind === "threw" && end.error.message, end?.kind === "threw" && end.step, steps], [
    "no",
    null,
    [],
  ]);
});

Deno.test("hooks: the one on completion is the last step, the one on compensation stands beside the plan", async () => {
  const run: Run = async (flow) => {
    flow.on("completed", () => {});
    flow.on("compensated", () => {});
    await flow.step("a", () => 0);
    return "output";
  };
  const pass = await passOf(run, [{ stepName: "a" }]);
  assert.deepEqual([names(pass), pass.plan.end], [["0 a (step)", "1 ~completed (hook)"], { kind: "more" }]);
  assert.deepEqual([pass.plan.compensatedHook?.name, pass.plan.compensatedHook?.hasUndo], ["~compensated", true]);
  assert.deepEqual([...pass.code.keys()], ["~compensated", "a", "~completed"]);
  const done = await passOf(run, [{ stepName: "a" }, { stepName: "~completed", kind: "hook" }]);
  assert.deepEqual(done.plan.end, { kind: "returned", output: "output" });
});

Deno.test("flow.call() is two steps, the second of which gives what it came to", async () => {
  const run: Run = (flow) => flow.call(workflow("child", () => {}), {});
  assert.deepEqual(names(await passOf(run)), ["0 child (call)"]);
  const started = { stepName: "child", kind: "call", undo: "result", result: { id: "x" } } as const;
  const waiting = await passOf(run, [started]);
  assert.deepEqual(names(waiting), ["0 child (call)", "1 child/result (call_result)"]);
  const done = await passOf(run, [started, { stepName: "child/result", kind: "call_result", result: 7 }]);
  assert.deepEqual(done.plan.end, { kind: "returned", output: 7 });
});

Deno.test("flow.now() moves with the records, and flow.key() names the key of a step", async () => {
  const run: Run = async (flow) => {
    const start = flow.now();
    await flow.step("a", () => 0);
    return [start, flow.now(), flow.key("b")];
  };
  const { startedAt } = anExecution(EXECUTION);
  const { finishedAt } = recordOf([{ stepName: "a" }]).attempts[0]!;
  assert.deepEqual((await passOf(run, [{ stepName: "a" }])).plan.end, {
    kind: "returned",
    output: [startedAt, finishedAt, "execution-1:b"],
  });
});
