import assert from "node:assert/strict";
import { advance } from "./change.ts";
import { park } from "./operate.ts";
import { endBranch, openMore } from "./parallel.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { ExecutionRecord } from "./record.ts";
import { aPlan, success, T0, Walk } from "./testing_walk.ts";

const LEASE_MS = 30_000;

/** A parallel of two branches, of which one runs at a time. */
function oneAtATime(deadlineMs: number | null = null): Plan {
  const plan = aPlan(["mails"], deadlineMs);
  const [mails] = plan.steps as [PlanStep];
  const branches = ["a", "b"].map((name): PlanStep => ({ ...mails, name: `mails/${name}`, kind: "branch" }));
  const parallel = { branches, concurrency: 1, failFast: true };
  return { ...plan, end: { kind: "more" }, steps: [{ ...mails, kind: "parallel", parallel }] };
}

function opened(plan: Plan): { readonly walk: Walk; readonly record: ExecutionRecord } {
  const walk = new Walk(plan, plan.deadlineMs === null ? {} : { deadlineAt: T0 + plan.deadlineMs });
  walk.turn();
  return { walk, record: walk.record };
}

function names({ execution }: ExecutionRecord): readonly string[] {
  return (execution.openBranches ?? []).map(({ step }) => step);
}

Deno.test("endBranch() renews the lease that it writes, and is refused by a later heartbeat", () => {
  const plan = oneAtATime();
  const { record, walk } = opened(plan);
  const token = record.execution.owner ?? "";
  const change = endBranch(record, "mails/a", success(), plan, {
    ...walk.making(),
    mayOpen: true,
    now: T0 + 5_000,
    leaseMs: LEASE_MS,
  });
  const until = T0 + 5_000 + LEASE_MS;
  assert.deepEqual([change.execution.dueAt, change.execution.wakeAt, change.expired], [until, until, {
    token,
    at: until,
  }]);
  assert.deepEqual(names(advance(record, change)), ["mails/b"]);
});

Deno.test("endBranch() begins no other branch after the deadline", () => {
  const plan = oneAtATime(60_000);
  const { record, walk } = opened(plan);
  const now = T0 + 60_000;
  const { execution } = endBranch(record, "mails/a", success(), plan, { ...walk.making(), mayOpen: true, now });
  assert.deepEqual([execution.openBranches, execution.owner, execution.dueAt], [null, null, now]);
});

Deno.test("endBranch() and openMore() lift what was parked: its worker works on it", () => {
  const plan = oneAtATime();
  const { record, walk } = opened(plan);
  const late = { ...walk.making(), mayOpen: true, now: T0 + 600_000 };
  const parked = advance(record, park(record, "not_taken_up", late)!);
  assert.equal(parked.execution.status, "blocked");
  for (const change of [endBranch(parked, "mails/a", success(), plan, late), openMore(parked, plan, late)]) {
    assert.deepEqual([change.execution.status, change.execution.blockedReason], ["running", null]);
  }
});
