/** Bugs that are put in on purpose: the simulator has to find each of them. */

import type { Change } from "../../src/domain/change.ts";
import type { Attempt, ExecutionRecord } from "../../src/domain/record.ts";
import { CLOSED } from "../../src/domain/attempts.ts";
import { changeOf } from "../../src/domain/change.ts";
import { DECISIONS, type Decisions } from "../../src/engine/parts.ts";
import type { Store } from "../../src/store.ts";

/** A bug, as a sentence about the engine or the store, and how to put it in. */
export interface DeliberateBug {
  readonly fault: string;
  readonly store?: (store: Store) => Store;
  readonly decisions?: Partial<Decisions>;
}

/** One for each rule of the protocol that is easily lost. */
export const DELIBERATE_BUGS: readonly DeliberateBug[] = [
  {
    fault: "a commit applies whatever the stored revision is",
    store: (store) => {
      const revisions = new Map<string, number>();
      return override(store, {
        commit: (changes) =>
          eachInTurn(changes, async (change) => {
            const { id } = change.execution;
            const revision = (revisions.get(id) ?? change.execution.revision - 1) + 1;
            revisions.set(id, revision);
            const [answer] = await store.commit([{ ...change, execution: { ...change.execution, revision } }]);
            if (answer?.kind !== "committed") revisions.set(id, revision - 1);
            return answer!;
          }),
      });
    },
  },
  {
    fault: "an attempt is taken over without a look at its token and its lease",
    store: (store) =>
      override(store, { commit: (changes) => store.commit(changes.map((change) => ({ ...change, expired: null }))) }),
  },
  {
    fault: "an outcome is written though the token is another one's",
    decisions: {
      reconcile(fresh, change, openToken) {
        const found = DECISIONS.reconcile(fresh, change, openToken);
        return found === "discard" && fresh !== null ? "again" : found;
      },
    },
  },
  {
    fault: "a step whose outcome is unknown is not undone",
    decisions: {
      applyOutcome: (record, outcome, plan, making) =>
        withoutUnknown(DECISIONS.applyOutcome(record, outcome, plan, making)),
      follow(record, plan, options, before) {
        const { change, last } = DECISIONS.follow(record, plan, options, before);
        return { change: change === null ? null : withoutUnknown(change), last };
      },
    },
  },
  {
    fault: "a compensation is carried out while an attempt is open",
    decisions: {
      follow: (record, plan, options, before) =>
        DECISIONS.follow(before === null ? asIfNothingWereOpen(record) : record, plan, options, before),
    },
  },
  {
    fault: "a signal that arrives while its wait is armed wakes nobody",
    store: (store) =>
      override(store, {
        commit: (changes) => store.commit(changes.map((change) => ({ ...change, signalsSeen: null }))),
      }),
  },
  {
    fault: "a signal leaves the wake time as it is",
    store: (store) =>
      override(store, {
        async signal(signal) {
          const [before] = await store.load([signal.executionId]);
          const answer = await store.signal(signal);
          const [after] = await store.load([signal.executionId]);
          if (answer.kind === "stored" && before && after) {
            await store.commit([changeOf(after.execution, { wakeAt: before.execution.wakeAt })]);
          }
          return answer;
        },
      }),
  },
  {
    fault: "whoever takes a parallel over forgets the branches that ran",
    decisions: {
      follow(record, plan, options, before) {
        const { change, last } = DECISIONS.follow(record, plan, options, before);
        const isCutOff = (row: Attempt) => row.status === "abandoned" && row.kind === "branch";
        const rows = change?.attempts.filter((row) => !isCutOff(row)) ?? [];
        return { change: change === null ? null : { ...change, attempts: rows }, last };
      },
    },
  },
  {
    fault: "the end of a branch writes the lease of its parallel as it was read",
    decisions: {
      endBranch(record, name, outcome, plan, making) {
        const change = DECISIONS.endBranch(record, name, outcome, plan, making);
        const { dueAt, owner, wakeAt } = record.execution;
        if (change.execution.owner !== owner) return change;
        return { ...change, execution: { ...change.execution, dueAt, wakeAt }, expired: null };
      },
    },
  },
  {
    fault: "a workflow looks at what it called only when it is told to",
    decisions: {
      applyOutcome(record, outcome, plan, making) {
        const change = DECISIONS.applyOutcome(record, outcome, plan, making);
        if (outcome.kind !== "waiting" || change.execution.waitingFor === null) return change;
        return { ...change, execution: { ...change.execution, dueAt: null, wakeAt: null } };
      },
    },
  },
  {
    fault: "the undo of a call does not wait until what was called is undone",
    decisions: {
      applyOutcome: (record, outcome, plan, making) =>
        DECISIONS.applyOutcome(
          record,
          outcome.kind === "waiting" && record.execution.direction === "compensate"
            ? { kind: "succeeded", patch: null }
            : outcome,
          plan,
          making,
        ),
    },
  },
];

function withoutUnknown(change: Change): Change {
  const { execution, attempts } = change;
  return {
    ...change,
    execution: execution.openUndo === "unknown" ? { ...execution, openUndo: "none" } : execution,
    attempts: attempts.map((row) => row.undo === "unknown" ? { ...row, undo: "none" } : row),
  };
}

function asIfNothingWereOpen(record: ExecutionRecord): ExecutionRecord {
  const { execution } = record;
  if (execution.request === null || execution.owner === null) return record;
  return { ...record, execution: { ...execution, ...CLOSED } };
}

function override(store: Store, members: Partial<Store>): Store {
  return {
    kind: store.kind,
    transactional: store.transactional,
    insert: (executions, tx) => store.insert(executions, tx),
    load: (ids) => store.load(ids),
    status: (ids) => store.status(ids),
    versionsInUse: () => store.versionsInUse(),
    unfinished: (options) => store.unfinished(options),
    operations: (id) => store.operations(id),
    commit: (changes) => store.commit(changes),
    renew: (leases) => store.renew(leases),
    claimDue: (options) => store.claimDue(options),
    nextWake: (filter) => store.nextWake(filter),
    touch: (ids, now) => store.touch(ids, now),
    signal: (signal) => store.signal(signal),
    transaction: (body) => store.transaction(body),
    workers: store.workers,
    prune: (options) => store.prune(options),
    now: () => store.now(),
    migrate: (options) => store.migrate(options),
    close: () => store.close(),
    ...members,
  };
}

async function eachInTurn<T, U>(items: readonly T[], work: (item: T) => Promise<U>): Promise<readonly U[]> {
  const done: U[] = [];
  for (const item of items) done.push(await work(item));
  return done;
}
