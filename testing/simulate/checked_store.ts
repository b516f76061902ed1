/** The store of a simulation: after every write it looks whether the record may be what it has become. */

import type { Change } from "../../src/domain/change.ts";
import { findTransitionViolation, findViolation } from "../../src/domain/invariants.ts";
import type { Plan } from "../../src/domain/plan.ts";
import type { Execution, ExecutionRecord } from "../../src/domain/record.ts";
import type { Store } from "../../src/store.ts";
import type { World } from "./world.ts";

/** The plan of an execution's definition, or null. */
export type PlanOf = (execution: Execution) => Plan | null;

/** `store` with every write checked against the invariants; what is found goes to the world. */
export function checkedStore(store: Store, world: World, planOf: PlanOf): Store {
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
    const violation = findViolation(record, planOf(execution)) ??
      (before === undefined ? null : findTransitionViolation(before, record));
    if (violation === null) return;
    world.report(`execution ${execution.id} after ${how}: ${violation}`);
  }

  /** Reads in the same instant as the write, so that nothing comes between the two. */
  async function checked<T>(ids: readonly string[], how: string, write: () => Promise<T>): Promise<T> {
    const written = write();
    const seen = check(ids, how);
    const answer = await written;
    await seen;
    return answer;
  }

  const members: Partial<Store> = {
    insert: (executions, tx) => checked(idsOf(executions), "insert", () => store.insert(executions, tx)),
    commit: (changes) => checked(changes.map(idOfChange), "commit", () => store.commit(changes)),
    renew: (leases) => checked(leases.map((lease) => lease.executionId), "renew", () => store.renew(leases)),
    touch: (ids, now) => checked(ids, "touch", () => store.touch(ids, now)),
    signal: (signal) => checked([signal.executionId], "signal", () => store.signal(signal)),
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
    operations: (id) => store.operations(id),
    nextWake: (filter) => store.nextWake(filter),
    transaction: (body) => store.transaction(body),
    workers: store.workers,
    prune: (options) => store.prune(options),
    now: () => store.now(),
    migrate: () => store.migrate(),
    close: () => store.close(),
    ...members,
  } as Store;
}

function idsOf(executions: readonly Execution[]): readonly string[] {
  return executions.map((execution) => execution.id);
}

function idOfChange(change: Change): string {
  return change.execution.id;
}
