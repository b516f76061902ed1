/** Random histories of random workflows: no invariant breaks, what was done is undone, and everything comes to rest. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Outcome } from "./outcome.ts";
import { type ExecutionRecord, isActive, isFinished } from "./record.ts";
import { failure, INTERRUPTED, LEASE, type StepFields, success, T0 } from "./testing_walk.ts";
import {
  actOn,
  aParallel,
  planOf,
  type Program,
  type ProgramStep,
  type WorkflowAction,
  WorkflowViolation,
  WorkflowWalk,
} from "./testing_workflow.ts";
import { isPivotPassed } from "./undo.ts";

const RUNS = 10_000;

Deno.test("next() and apply keep every invariant in random histories of workflows, and everything comes to rest", () => {
  const began = performance.now();
  const tally = new Map<string, number>();
  const rows = new Map<string, number>();
  fc.assert(
    fc.property(programs(), fc.array(fc.nat(), { maxLength: 80, size: "max" }), (program, moves) => {
      const world = new WorkflowWalk(program);
      for (const move of moves) play(world, move);
      driveToRest(world);
      const { blockedReason, failure, status } = world.execution;
      // The function is the same throughout.
      assert.notEqual(blockedReason, "recipe_changed", `${failure?.message}\n${world.rows.join("\n")}`);
      tally.set(blockedReason ?? status, (tally.get(blockedReason ?? status) ?? 0) + 1);
      driveToEnd(world);
      for (const { kind } of world.record.attempts) rows.set(kind, (rows.get(kind) ?? 0) + 1);
      checkEnd(world);
    }),
    { numRuns: RUNS },
  );
  // What never came about was not tested.
  for (const end of ["completed", "compensated", "failed", "compensation_failed", "bug", "crashed", "after_pivot"]) {
    assert.ok((tally.get(end) ?? 0) > 0, `nothing came to rest as ${end}`);
  }
  for (
    const kind of [
      "step",
      "transaction",
      "pivot",
      "sleep",
      "wait",
      "parallel",
      "branch",
      "branch_transaction",
      "call",
      "call_result",
      "hook",
    ]
  ) {
    assert.ok((rows.get(kind) ?? 0) > 0, `there was no ${kind}`);
  }
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const text = (counts: ReadonlyMap<string, number>) =>
    [...counts].sort(([one], [other]) => one.localeCompare(other)).map(([what, n]) => `${what} ${n}`).join(", ");
  console.log(`${RUNS} histories in ${seconds} s; came to rest as ${text(tally)}; rows: ${text(rows)}`);
});

function programs(): fc.Arbitrary<Program> {
  const fields = fc.record({
    kind: fc.constantFrom(
      "step",
      "step",
      "step",
      "transaction",
      "pivot",
      "sleep",
      "wait",
      "any",
      "call",
      "parallel",
      "parallel",
    ),
    hasUndo: fc.boolean(),
    undoOnFailure: fc.boolean(),
    attempts: fc.integer({ min: 1, max: 3 }),
    pauseMs: fc.constantFrom(0, 5_000, 60_000, null),
    isCaught: fc.boolean(),
    fallback: fc.integer({ min: 0, max: 2 }),
    branches: fc.array(
      fc.record({
        isTransaction: fc.boolean(),
        hasUndo: fc.boolean(),
        undoOnFailure: fc.boolean(),
        attempts: fc.integer({ min: 1, max: 3 }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    concurrency: fc.integer({ min: 1, max: 3 }),
    failFast: fc.boolean(),
  });
  return fc.record({
    drafts: fc.array(fields, { minLength: 0, maxLength: 6 }),
    throws: fc.constantFrom(false, false, false, true),
    hasCompletedHook: fc.boolean(),
    hasCompensatedHook: fc.boolean(),
    deadlineMs: fc.constantFrom(null, null, 15_000, 120_000),
  }).map(({ drafts, ...whole }) => {
    const pivot = drafts.findIndex(({ kind }) => kind === "pivot");
    const steps = drafts.flatMap((draft, index): ProgramStep[] => {
      const isBefore = pivot === -1 || index < pivot;
      const undoable = isBefore && draft.hasUndo;
      const undo = { hasUndo: undoable, undoOnFailure: undoable && draft.undoOnFailure };
      const retry = policy(draft.attempts);
      const named = (name: string): StepFields => ({ name, retry, undoRetry: policy(2) });
      const step = ((): StepFields => {
        switch (draft.kind) {
          case "call":
            return { ...named(`call${index}`), kind: "call", hasUndo: isBefore, undoOnFailure: isBefore };
          case "sleep":
            return { ...named(`sleep${index}`), kind: "sleep", pauseMs: draft.pauseMs ?? 1_000 };
          case "wait":
            return { ...named(`wait${index}`), kind: "wait", pauseMs: draft.pauseMs };
          case "any":
            return { ...named(`any${index}`), kind: "wait", pauseMs: draft.pauseMs, signals: ["yes", "no"] };
          case "parallel":
            return aParallel(
              `all${index}`,
              draft.branches.map((branch, at): StepFields => ({
                name: `b${at}`,
                kind: branch.isTransaction ? "branch_transaction" : "branch",
                hasUndo: isBefore && branch.hasUndo,
                undoOnFailure: isBefore && branch.hasUndo && branch.undoOnFailure && !branch.isTransaction,
                retry: policy(branch.attempts),
                undoRetry: policy(2),
              })),
              { concurrency: draft.concurrency, failFast: draft.failFast },
            );
          case "transaction":
            return { ...named(`tx${index}`), kind: "transaction", hasUndo: undoable };
          case "pivot":
            if (index === pivot) return { ...named("pivot"), kind: "pivot" };
            return { ...named(`step${index}`), ...undo };
          default:
            return { ...named(`step${index}`), ...undo };
        }
      })();
      const fallback = Array.from({ length: draft.fallback }, (_, at): ProgramStep => ({
        step: { ...named(`back${index}.${at}`), ...undo },
        isCaught: false,
        fallback: [],
      }));
      const made: ProgramStep = { step, isCaught: draft.isCaught, fallback };
      if (step.kind !== "call") return [made];
      const result: StepFields = { ...named(`${step.name}/result`), kind: "call_result" };
      return [{ ...made, isCaught: false }, { ...made, step: result }];
    });
    return { steps, ...whole };
  });
}

function policy(attempts: number): StepFields["retry"] & object {
  return { attempts, delayMs: 2_000, factor: 2, maxDelayMs: 8_000, jitter: true };
}

/** What the low digits of a move choose, the more often the more often it is named. */
const MOVES = [
  ...many(8, "turn"),
  ...many(14, "end"),
  ...many(4, "until_due"),
  ...many(2, "more"),
  ...many(2, "pass"),
  ...many(3, "signal"),
  ...many(1, "crash"),
  ...many(3, "act"),
] as const;

const ENDINGS: readonly Outcome[] = [
  ...many(14, success(null)),
  ...many(3, failure()),
  { kind: "skipped", reason: "no need" },
  INTERRUPTED,
  failure({ aborted: true }),
  failure({ cause: "final" }),
  failure({ cause: "final" }),
  failure({ cause: "bug" }),
  failure({ cause: "not_storable" }),
];
/** What a look at another execution finds. */
const LOOKS: readonly Outcome[] = [
  ...many(6, success(null)),
  ...many(6, { kind: "waiting", waitingFor: "call child", until: T0 + 30_000 } as const),
  ...many(2, failure({ cause: "final" })),
  { kind: "blocked", reason: "after_pivot", error: { class: "AfterPivot", message: "", backtrace: null, cause: null } },
  failure(),
  INTERRUPTED,
];

function isLooking({ execution }: WorkflowWalk): boolean {
  return execution.openKind === "call_result" ||
    (execution.openKind === "call" && execution.direction === "compensate");
}

const ACTIONS: readonly WorkflowAction[] = [
  ...many(4, "retry"),
  ...many(3, "compensate"),
  ...many(2, "compensate_for_parent"),
  ...many(3, "skip"),
  "terminate",
  "park",
  "unpark",
  "not_taken_up",
];
const PASSES = [500, 3_000, LEASE, 3_600_000];

function many<const T>(times: number, value: T): T[] {
  return Array.from({ length: times }, () => value);
}

function play(world: WorkflowWalk, move: number): void {
  let rest = move;
  const take = <T>(choices: readonly T[]): T => {
    const choice = choices[rest % choices.length] as T;
    rest = Math.floor(rest / choices.length);
    return choice;
  };
  const kind = take(MOVES);
  const { openBranches, owner } = world.execution;
  const isRunning = owner !== null && owner === world.running;
  switch (kind) {
    case "turn":
      // The worker that runs its code takes no turn meanwhile; others may.
      world.turn({ mayOpen: take([true, true, true, false]), mayTakeOver: take([true, true, false]) });
      return;
    case "end":
      if (!isRunning) return;
      world.end(take(isLooking(world) ? LOOKS : ENDINGS), openBranches === null ? undefined : take(openBranches).step, {
        mayOpen: take([true, true, true, false]),
      });
      return;
    case "more":
      if (isRunning && openBranches !== null) world.more();
      return;
    case "until_due":
      world.untilDue();
      return;
    case "pass":
      world.pass(take(PASSES));
      return;
    case "signal":
      world.signal(take(["yes", "no", ...world.program.steps.map(({ step }) => step.name)]));
      return;
    case "crash":
      world.crash();
      return;
    case "act":
      actOn(world, take(ACTIONS));
      return;
    default:
      kind satisfies never;
  }
}

/** The last fault is past: one live worker whose code succeeds, and every signal comes. */
function driveToRest(world: WorkflowWalk): void {
  world.crash();
  if (world.execution.blockedReason === "definition_missing") actOn(world, "unpark");
  for (let turns = 0; turns < 120; turns++) {
    const { execution } = world;
    if (!isActive(execution.status) && execution.request === null) return;
    if (execution.owner !== null && execution.owner === world.running) {
      world.end(success(null));
      continue;
    }
    if (execution.wakeAt === null) {
      for (const name of execution.waitingFor?.split("\n") ?? []) world.signal(name);
      if (execution.waitingFor === null) throw new WorkflowViolation("nobody will look at it");
    }
    world.now = Math.max(world.now, world.execution.wakeAt ?? world.now, world.execution.dueAt ?? world.now);
    world.turn();
  }
  throw new WorkflowViolation(`it does not come to rest\n${world.rows.join("\n")}\n${JSON.stringify(world.execution)}`);
}

/** A person sees to what is blocked, until it has ended. */
function driveToEnd(world: WorkflowWalk): void {
  for (let visit = 0; visit < 16; visit++) {
    const { blockedReason, currentStep, direction, status } = world.execution;
    if (isFinished(status)) return;
    if (blockedReason === "outcome_unknown") actOn(world, "skip");
    else if (visit < 4) actOn(world, "retry");
    else if (visit < 12) actOn(world, direction === "execute" || currentStep === "" ? "compensate" : "skip");
    else actOn(world, "terminate");
    driveToRest(world);
  }
  throw new WorkflowViolation(`nobody can end it: ${JSON.stringify(world.execution)}`);
}

/** What has to hold of a record that has ended, beside what holds of every record. */
function checkEnd({ program, record }: WorkflowWalk): void {
  const { output, status } = record.execution;
  const forward = record.attempts.filter(({ direction }) => direction === "execute");
  if (status === "completed") {
    const plan = planOf(program, record);
    assert.deepEqual([plan.end?.kind, output], ["returned", "done"]);
    assert.deepEqual(settledNames(record), plan.steps.map(({ name }) => name));
    if (program.hasCompletedHook) assert.equal(hooksOf(record, "execute"), 1);
  }
  if (status === "compensated") {
    const undone = new Set(
      record.attempts.filter((row) => row.direction === "compensate" && ended(row)).map(({ stepName }) => stepName),
    );
    for (const row of forward) {
      if (row.undo === "result") assert.ok(undone.has(row.stepName), `${row.stepName} was not undone`);
    }
    assert.equal(isPivotPassed(record), false);
    if (program.hasCompensatedHook) assert.equal(hooksOf(record, "compensate"), 1);
  }
  // A step that the function has left behind is never run again.
  const positions = forward.filter(({ kind }) => !kind.startsWith("branch")).map(({ position }) => position);
  assert.deepEqual(positions, positions.toSorted((one, other) => one - other));
}

function ended({ status }: { readonly status: string }): boolean {
  return status === "succeeded" || status === "skipped";
}

function hooksOf(record: ExecutionRecord, direction: string): number {
  return record.attempts.filter((row) => row.kind === "hook" && row.direction === direction && ended(row)).length;
}

function settledNames(record: ExecutionRecord): readonly string[] {
  const names = record.attempts
    .filter(({ direction, kind }) => direction === "execute" && !kind.startsWith("branch"))
    .map(({ stepName }) => stepName);
  return [...new Set(names)];
}
