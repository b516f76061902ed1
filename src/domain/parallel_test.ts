import assert from "node:assert/strict";
import type { Json } from "./json.ts";
import { park, retry, terminate } from "./operate.ts";
import { branchesToOpen, branchState, endBranch, openMore, parallelState, undoIfCutOff } from "./parallel.ts";
import { aPlan, failure, INTERRUPTED, LEASE, type StepFields, success, T0 } from "./testing_walk.ts";
import { aParallel, aProgram, planOf, WorkflowWalk } from "./testing_workflow.ts";

const BY = { actor: "ada", reason: null };

/** A walk whose only step is a parallel of these branches, just opened. */
function opened(
  branches: readonly (string | StepFields)[],
  options: { readonly concurrency?: number; readonly failFast?: boolean; readonly isCaught?: boolean } = {},
): WorkflowWalk {
  const { isCaught = false, ...fields } = options;
  const named = branches.map((branch) => typeof branch === "string" ? { name: branch } : branch);
  const walk = new WorkflowWalk(aProgram([{ step: aParallel("all", named, fields), isCaught, fallback: [] }]));
  walk.turn();
  return walk;
}

function running(walk: WorkflowWalk): readonly string[] | null {
  return walk.execution.openBranches?.map(({ attempt, step }) => `${step}#${attempt}`) ?? null;
}

function states(walk: WorkflowWalk): readonly string[] {
  const [step] = planOf(walk.program, walk.record).steps;
  return step!.parallel!.branches.map((branch) => branchState(walk.record, branch, walk.now).kind);
}

Deno.test("a parallel is opened once, with as many branches as its concurrency allows, and refilled", () => {
  const walk = opened(["a", "b", "c"], { concurrency: 2 });
  assert.deepEqual(running(walk), ["all/a#1", "all/b#1"]);
  const { attempt, openKind, owner } = walk.execution;
  assert.deepEqual([attempt, openKind], [1, "parallel"]);
  walk.end(success(), "all/b");
  assert.deepEqual([running(walk), walk.execution.owner], [["all/a#1", "all/c#1"], owner]);
  walk.end(success(), "all/a");
  assert.deepEqual(running(walk), ["all/c#1"]);
  walk.end(success(), "all/c");
  assert.deepEqual(walk.rows, [
    "all/b 1.1 succeeded",
    "all/a 1.1 succeeded",
    "all/c 1.1 succeeded",
    "all 1.1 succeeded",
  ]);
  assert.deepEqual([walk.execution.status, walk.execution.output], ["completed", "done"]);
});

Deno.test("rows of branches have the position, the key and the times of their own", () => {
  const walk = opened(["a", { name: "b", hasUndo: true }]);
  walk.pass(5);
  walk.end(success("made" as unknown as null), "all/b");
  const [row] = walk.record.attempts;
  assert.deepEqual(
    [row?.stepName, row?.kind, row?.position, row?.key, row?.startedAt, row?.finishedAt, row?.undo, row?.worker],
    ["all/b", "branch", 0, "x:all/b", T0, T0 + 5, "result", "w"],
  );
});

Deno.test("branchState() tells what is open, ready, waits, has ended and has failed", () => {
  const walk = opened([
    "ended",
    "open",
    { name: "waits", retry: { attempts: 2, delayMs: 1_000, factor: 1, maxDelayMs: 1_000, jitter: false } },
    { name: "fails", retry: { attempts: 1, delayMs: 0, factor: 1, maxDelayMs: 0, jitter: false } },
    "skipped",
    "interrupted",
    "more",
  ], { concurrency: 6, failFast: false });
  walk.end(success(), "all/ended", { mayOpen: false });
  walk.end(failure(), "all/waits", { mayOpen: false });
  walk.end(failure(), "all/fails", { mayOpen: false });
  walk.end({ kind: "skipped", reason: "no need" }, "all/skipped", { mayOpen: false });
  walk.end(INTERRUPTED, "all/interrupted", { mayOpen: false });
  assert.deepEqual(states(walk), ["ended", "open", "waiting", "failed", "ended", "ready", "ready"]);
  assert.deepEqual(running(walk), ["all/open#1"]);
  walk.pass(1_000);
  assert.equal(states(walk)[2], "ready");
});

Deno.test("parallelState() is decided by the first failure, and with failFast false by none before the others have ended", () => {
  for (const failFast of [true, false]) {
    const walk = opened(["a", "b", "c"], { failFast });
    const step = planOf(walk.program, walk.record).steps[0]!;
    walk.end(failure({ cause: "final" }), "all/b");
    assert.equal(parallelState(walk.record, step, walk.now).failed?.stepName ?? null, failFast ? "all/b" : null);
    walk.pass(1);
    walk.end(failure({ cause: "final" }), "all/a");
    assert.equal(walk.execution.status, "running");
    walk.end(success(), "all/c");
    assert.deepEqual([walk.execution.status, walk.execution.failure?.step], ["failed", "all"]);
    assert.equal(walk.rows.at(-1), "all 1.1 failed");
  }
});

Deno.test("a branch that has failed for good lets nothing more be opened, unless failFast is false", () => {
  const names = (failFast: boolean) => {
    const walk = opened(["a", "b", "c"], { concurrency: 2, failFast });
    walk.end(failure({ cause: "final" }), "all/a");
    return running(walk);
  };
  assert.deepEqual(names(true), ["all/b#1"]);
  assert.deepEqual(names(false), ["all/b#1", "all/c#1"]);
});

Deno.test("a parallel none of whose branches runs is closed until the first is tried again, and keeps its count", () => {
  const walk = opened(["a", "b"]);
  walk.end(failure(), "all/a");
  walk.pass(300);
  walk.end(failure(), "all/b");
  const { attempt, dueAt, openBranches, owner, wakeAt } = walk.execution;
  assert.deepEqual([attempt, dueAt, openBranches, owner, wakeAt], [0, T0 + 1_000, null, null, T0 + 1_000]);
  walk.untilDue().turn();
  assert.deepEqual([running(walk), walk.execution.attempt], [["all/a#2"], 1]);
  walk.pass(300).more();
  assert.deepEqual(running(walk), ["all/a#2", "all/b#2"]);
});

Deno.test("openMore() changes nothing but the revision where nothing has become ready", () => {
  const walk = opened(["a"]);
  const plan = planOf(walk.program, walk.record);
  const { execution } = openMore(walk.record, plan, walk.making());
  assert.deepEqual(execution, { ...walk.execution, revision: walk.execution.revision + 1 });
});

Deno.test("endBranch() of what does not run changes nothing but the revision", () => {
  const walk = opened(["a"]);
  const change = endBranch(walk.record, "all/b", success(), planOf(walk.program, walk.record), walk.making());
  assert.deepEqual(change.execution, { ...walk.execution, revision: walk.execution.revision + 1 });
  assert.deepEqual(change.attempts, []);
});

Deno.test("a branch cannot wait for another execution, nor block by itself", () => {
  const walk = opened(["a"]);
  const plan = planOf(walk.program, walk.record);
  for (
    const outcome of [
      { kind: "waiting", waitingFor: "call y", until: T0 } as const,
      {
        kind: "blocked",
        reason: "after_pivot",
        error: { class: "", message: "", backtrace: null, cause: null },
      } as const,
    ]
  ) {
    assert.throws(() => endBranch(walk.record, "all/a", outcome, plan, walk.making()), TypeError);
  }
});

Deno.test("a worker that stops opens nothing more, and closes the parallel with its last branch", () => {
  const walk = opened(["a", "b"], { concurrency: 1 });
  walk.end(INTERRUPTED, "all/a", { mayOpen: false });
  const { dueAt, owner, status } = walk.execution;
  assert.deepEqual([dueAt, owner, status], [T0, null, "running"]);
  walk.turn();
  assert.deepEqual(running(walk), ["all/a#2"]);
});

Deno.test("a request lets nothing more be opened, and is carried out once no branch runs", () => {
  const walk = opened([{ name: "a", hasUndo: true }, "b", "c"], { concurrency: 2 });
  walk.operate((record, making) => ({
    kind: "change",
    change: {
      ...parkless(record),
      execution: {
        ...record.execution,
        revision: record.execution.revision + 1,
        request: { action: "compensate", ...BY, at: making.now },
      },
    },
  }));
  walk.end(success(), "all/a");
  assert.deepEqual(running(walk), ["all/b#1"]);
  walk.end(success(), "all/b");
  const { currentStep, direction, status } = walk.execution;
  assert.deepEqual([currentStep, direction, status], ["all/a", "compensate", "compensating"]);
});

function parkless(record: WorkflowWalk["record"]) {
  return { execution: record.execution, attempts: [], operations: [], consumed: [], expired: null, signalsSeen: null };
}

Deno.test("whoever takes over writes a row for each running branch, and counts it as a try", () => {
  const twice = { attempts: 2, delayMs: 0, factor: 1, maxDelayMs: 0, jitter: false };
  const walk = opened([{ name: "a", hasUndo: true, retry: twice }, {
    name: "tx",
    kind: "branch_transaction",
    hasUndo: true,
  }]);
  walk.crash().pass(LEASE).turn();
  assert.deepEqual(walk.rows, ["all/a 1.1 abandoned (unknown)", "all/tx 1.1 abandoned"]);
  assert.deepEqual([running(walk), walk.execution.attempt], [["all/a#2", "all/tx#2"], 1]);
  walk.crash().pass(LEASE).turn();
  assert.deepEqual([walk.execution.status, walk.execution.blockedReason], ["blocked", "crashed"]);
  assert.match(walk.execution.failure?.message ?? "", /"all\/a"/);
});

Deno.test("a branch whose workers have all vanished fails under undoOnFailure, and is undone", () => {
  const once = { attempts: 1, delayMs: 0, factor: 1, maxDelayMs: 0, jitter: false };
  const walk = opened([{ name: "a", hasUndo: true, undoOnFailure: true, retry: once }]);
  walk.crash().pass(LEASE).turn();
  assert.deepEqual([walk.execution.status, walk.execution.currentStep], ["compensating", "all/a"]);
  assert.deepEqual(walk.rows, ["all/a 1.1 abandoned (unknown)", "all 1.1 failed"]);
});

Deno.test("a parallel that was taken over while its branch waits is put off until then, not beyond its deadline", () => {
  for (const deadlineMs of [null, LEASE + 500]) {
    const once = { attempts: 1, delayMs: 0, factor: 1, maxDelayMs: 0, jitter: false };
    const late = { attempts: 2, delayMs: 2 * LEASE, factor: 1, maxDelayMs: 2 * LEASE, jitter: false };
    const branches = [{ name: "waits", retry: late }, { name: "doomed", retry: once }];
    const walk = new WorkflowWalk(aProgram([aParallel("all", branches, { failFast: false })], { deadlineMs }));
    walk.turn();
    // What ends renews the lease of what still runs.
    walk.end(failure(), "all/waits");
    walk.crash().pass(LEASE).turn();
    const at = deadlineMs === null ? T0 + 2 * LEASE : T0 + deadlineMs;
    assert.deepEqual([walk.execution.dueAt, walk.execution.wakeAt, walk.execution.owner], [at, at, null]);
  }
});

Deno.test("terminate() ends each running branch, and a branch that ends lifts what was only parked", () => {
  const ended = opened(["a", "b"]);
  ended.operate((record, making) => terminate(record, BY, making));
  assert.deepEqual(ended.rows, ["all/a 1.1 superseded", "all/b 1.1 superseded"]);
  const parked = opened(["a", "b"]);
  parked.pass(LEASE);
  parked.commit(park(parked.record, "not_taken_up", parked.making())!);
  assert.equal(parked.execution.status, "blocked");
  parked.end(success(), "all/a");
  assert.deepEqual([parked.execution.status, parked.execution.blockedReason], ["running", null]);
});

Deno.test("retry() counts the branches' tries anew, and leaves alone what has ended", () => {
  const once = { attempts: 1, delayMs: 0, factor: 1, maxDelayMs: 0, jitter: false };
  const walk = opened(["done", { name: "bad", retry: once }]);
  walk.end(success(), "all/done");
  walk.end(failure({ cause: "bug" }), "all/bad");
  assert.deepEqual([walk.execution.status, walk.execution.blockedReason], ["blocked", "bug"]);
  walk.operate((record, making) => retry(record, BY, making));
  walk.turn();
  assert.deepEqual(running(walk), ["all/bad#1"]);
  walk.end(success(), "all/bad");
  assert.equal(walk.execution.status, "completed");
});

Deno.test("branches that fail say so, and what may have taken effect is unknown", () => {
  const cases: readonly [Parameters<typeof failure>[0] & object, string, Json][] = [
    [{ cause: "final" }, "all/a 1.1 failed", null],
    [{ cause: "final", aborted: true }, "all/a 1.1 failed (unknown)", null],
    [{ cause: "not_storable" }, "all/a 1.1 failed (unknown)", "not_storable"],
    [{ cause: "misuse" }, "all/a 1.1 failed", "bug"],
  ];
  for (const [fields, row, reason] of cases) {
    const walk = opened([{ name: "a", hasUndo: true }], { isCaught: true });
    walk.end(failure(fields), "all/a");
    assert.deepEqual([walk.rows[0], walk.record.attempts[0]?.reason], [row, reason]);
  }
});

Deno.test("branchesToOpen() opens nothing where what runs fills the concurrency", () => {
  const walk = opened(["a", "b"], { concurrency: 1 });
  const step = planOf(walk.program, walk.record).steps[0]!;
  assert.deepEqual(branchesToOpen(walk.record, step, walk.execution.openBranches ?? [], walk.now), []);
});

Deno.test("undoIfCutOff() is unknown for what may have taken effect, and none for a transaction", () => {
  const [plain, undoable, pivot, transaction] = aPlan([
    "plain",
    { name: "undoable", hasUndo: true },
    { name: "pivot", kind: "pivot" },
    { name: "transaction", kind: "branch_transaction", hasUndo: true },
  ]).steps;
  assert.deepEqual([plain!, undoable!, pivot!, transaction!].map(undoIfCutOff), ["none", "unknown", "unknown", "none"]);
});
