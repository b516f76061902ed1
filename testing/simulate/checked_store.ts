/** The store of a simulation: after every write it looks whether the record may be what it has become. */

import type { Change } from "../../src/domain/change.ts";
import { findTransitionViolation, findViolation } from "../../src/domain/invariants.ts";
import { isCalling } from "../../src/domain/next.ts";
import type { Plan } from "../../src/domain/plan.ts";
import type { Attempt, Execution, ExecutionRecord } from "../../src/domain/record.ts";
import type { Store } from "../../src/store.ts";
import { Rules } from "./rules.ts";
import { attemptName, type World } from "./world.ts";

/** The plan of an execution's definition, or null. */
export type PlanOf = (execution: Execution) => Plan | null;

/** How a store is checked. */
export interface CheckOptions {
  readonly world: World;
  readonly planOf: PlanOf;
  /** Whether a write has happened when its call returns, before its promise settles: as in the memory store. */
  readonly writesAtOnce: boolean;
}

/** `store` with every write checked against the invariants; what is found goes to the world. */
export function checkedStore(store: Store, { world, planOf, writesAtOnce }: CheckOptions): Store {
  const rules = new Rules(world.areClocksRight);

  async function check(ids: readonly string[], how: string): Promise<void> {
    const records = await store.load(ids);
    for (const [index, id] of ids.entries()) {
      const record = records[index] ?? null;
      if (record !== null) checkRecord(record, how);
      else if (world.truth.has(id)) world.report(`execution ${id} is gone after ${how}`);
    }
  }

  function checkRecord(record: ExecutionRecord, how: string): void {
    const { execution } = record;
    const before = world.truth.get(execution.id);
    world.truth.set(execution.id, record);
    if (execution.waitingFor !== null && !isCalling(execution)) {
      world.awaited.set(`${execution.id} ${execution.currentStep}`, execution.waitingFor.split("\n")[0]!);
    }
    // A heartbeat that changes nothing else is not worth a line.
    if (how !== "renew") world.note("store", () => `${how}: ${describeRow(record)}`);
    const violation = findViolation(record, planOf(execution)) ??
      (before === undefined ? null : findTransitionViolation(before, record)) ??
      rules.findViolation(before ?? null, record, planOf(execution)) ??
      findEndOfRunning(record.attempts.slice(before?.attempts.length ?? 0), world) ??
      findCalledLeft(record, record.attempts.slice(before?.attempts.length ?? 0), world);
    world.onWrite(before ?? null, record);
    if (violation === null) return;
    world.report(`execution ${execution.id} after ${how}: ${violation}`);
  }

  async function checked<T>(ids: readonly string[], how: string, write: () => Promise<T>): Promise<T> {
    const written = write();
    // Read in the same instant, if that can be, so that nothing comes between the two.
    const seen = writesAtOnce ? check(ids, how) : null;
    const answer = await written;
    await (seen ?? check(ids, how));
    return answer;
  }

  const members: Partial<Store> = {
    insert: (executions, tx) => checked(idsOf(executions), "insert", () => store.insert(executions, tx)),
    commit(changes) {
      const alive = findTakeOverOfAlive(changes, world);
      return checked(changes.map(idOfChange), "commit", async () => {
        const answers = await store.commit(changes);
        if (alive !== null && answers[alive.index]?.kind === "committed") world.report(alive.violation);
        return answers;
      });
    },
    renew: (leases) => checked(leases.map((lease) => lease.executionId), "renew", () => store.renew(leases)),
    touch: (ids, now) => checked(ids, "touch", () => store.touch(ids, now)),
    signal: (signal) => checked([signal.executionId], "signal", () => store.signal(signal)),
    async transaction(body) {
      const ids = new Set<string>();
      try {
        return await store.transaction((transaction) =>
          body({
            tx: transaction.tx,
            load: (id) => transaction.load(id),
            commit(change) {
              ids.add(change.execution.id);
              return transaction.commit(change);
            },
          })
        );
      } finally {
        await check([...ids], "transaction");
      }
    },
    async claimDue(options) {
      const claimed = await store.claimDue(options);
      await check(claimed.map((one) => one.executionId), "claimDue");
      return claimed;
    },
  };
  return {
    kind: store.kind,
    transactional: store.transactional,
    load: (ids) => store.load(ids),
    status: (ids) => store.status(ids),
    versionsInUse: () => store.versionsInUse(),
    unfinished: (options) => store.unfinished(options),
    operations: (id) => store.operations(id),
    nextWake: (filter) => store.nextWake(filter),
    workers: store.workers,
    prune: (options) => store.prune(options),
    now: () => store.now(),
    migrate: (options) => store.migrate(options),
    close: () => store.close(),
    ...members,
  } as Store;
}

/** Whoever takes an attempt over has to see its lease ended, by the clock that it goes by. */
function findTakeOverOfAlive(
  changes: readonly Change[],
  world: World,
): { readonly index: number; readonly violation: string } | null {
  for (const [index, { execution, attempts }] of changes.entries()) {
    const taken = attempts.find((row) => row.status === "abandoned");
    const before = world.truth.get(execution.id)?.execution;
    if (taken === undefined || before === undefined || before.owner === null) continue;
    if ((before.dueAt ?? 0) <= taken.finishedAt) continue;
    return { index, violation: `execution ${execution.id}: ${before.owner} is taken over while its lease is alive` };
  }
  return null;
}

/** How code ended is not known before it has; and whoever ran it says so. */
function findEndOfRunning(ended: readonly Attempt[], world: World): string | null {
  for (const row of ended) {
    const name = attemptName(row.executionId, row);
    // A body that has used up its time is rolled back, whatever it still does.
    const isOverdue = row.errorClass === "StepTimeout" || (IN_TRANSACTIONS.has(row.kind) && row.status === "failed");
    const isCutOff = row.status === "abandoned" || row.status === "superseded" || isOverdue;
    if (!isCutOff && world.running.has(name)) return `${row.stepName} is recorded ${row.status} while its code runs`;
    const ranIn = world.beganIn.get(name);
    // Looks at what was called, one after the other, have one number as long as they find it under way.
    const isLook = row.kind === "call" || row.kind === "call_result";
    if (ranIn !== undefined && row.worker !== ranIn && !isLook) {
      return `${row.stepName} is recorded as run by ${row.worker}`;
    }
    const isNews = row.status === "succeeded" && row.worker !== null;
    if (isNews && ranIn === undefined) return `${row.stepName} is recorded succeeded, and its code never ran`;
  }
  return null;
}

/** What was called ends before the call has a result, and is undone before the call is. */
function findCalledLeft({ attempts }: ExecutionRecord, ended: readonly Attempt[], world: World): string | null {
  for (const row of ended) {
    if (row.status !== "succeeded" || (row.kind !== "call" && row.kind !== "call_result")) continue;
    const isUndo = row.direction === "compensate";
    if (row.kind === "call" && !isUndo) continue;
    const name = isUndo ? row.stepName : row.stepName.slice(0, -"/result".length);
    const call = attempts.find((one) => one.stepName === name && one.status === "succeeded");
    const { id = null } = call?.result as { readonly id?: string } | null ?? {};
    const status = id === null ? undefined : world.truth.get(id)?.execution.status;
    if (status === undefined) continue; // it was never started
    const isRight = isUndo ? status === "compensated" || status === "failed" : status === "completed";
    if (!isRight) return `${row.stepName} is ${isUndo ? "undone" : "over"}, and what it called is ${status}`;
  }
  return null;
}

const IN_TRANSACTIONS: ReadonlySet<Attempt["kind"]> = new Set(["transaction", "branch_transaction", "hook"]);

/** A record in short, for the history. */
function describeRow({ execution, attempts }: ExecutionRecord): string {
  const {
    id,
    revision,
    status,
    blockedReason,
    direction,
    currentStep,
    epoch,
    attempt,
    owner,
    openBranches,
    waitingFor,
  } = execution;
  const last = attempts.at(-1);
  return [
    `${id} r${revision} ${status}${blockedReason === null ? "" : ` as ${blockedReason}`}`,
    `at ${currentStep}${direction === "execute" ? "" : " (undo)"} ${epoch}.${attempt}`,
    owner === null ? "" : `open by ${owner}`,
    openBranches === null ? "" : `with ${openBranches.map((branch) => `${branch.step} ${branch.attempt}`).join(", ")}`,
    waitingFor === null ? "" : `waits for ${waitingFor}`,
    execution.request === null ? "" : `asked to ${execution.request.action}`,
    last === undefined ? "" : `(last: ${last.stepName}${last.direction === "execute" ? "" : " (undo)"} ${last.status})`,
  ].filter((part) => part !== "").join(" ");
}

function idsOf(executions: readonly Execution[]): readonly string[] {
  return executions.map((execution) => execution.id);
}

function idOfChange(change: Change): string {
  return change.execution.id;
}
