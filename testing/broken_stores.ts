/**
 * Stores that are wrong on purpose, each in one way that a database, a driver or a hurried hand has been wrong. The
 * conformance suite has to reject every one: that is the proof that it looks.
 */

import type { Change } from "../src/domain/change.ts";
import type { Execution, ExecutionRecord } from "../src/domain/record.ts";
import type { Claimed, Store } from "../src/store.ts";

/** A fault, what it does to a store that works, and where it must be noticed. */
export interface BrokenStore {
  /** The fault, as a sentence about the store: "forgets the revision". */
  readonly fault: string;
  /** Names of conformance cases that must fail. */
  readonly caughtBy: readonly string[];
  readonly wrap: (store: Store) => Store;
}

/** The faults. */
export const BROKEN_STORES: readonly BrokenStore[] = [
  {
    fault: "forgets the revision",
    caughtBy: [
      "commit() is stale, and writes nothing, when it would write an older one as revision",
      "commit() is stale, and writes nothing, when it would write a newer one as revision",
    ],
    wrap: (store) =>
      override(store, {
        commit: async (changes) => {
          const stored = await store.load(changes.map((change) => change.execution.id));
          return await store.commit(changes.map((change, index) => {
            const revision = (stored[index]?.execution.revision ?? 0) + 1;
            return { ...change, execution: { ...change.execution, revision } };
          }));
        },
      }),
  },
  {
    fault: "cuts names to 255 characters",
    caughtBy: [
      "G24 an id with 300 characters of one byte is kept whole or refused, never cut",
      "G24 an id with 300 characters of two bytes is kept whole or refused, never cut",
    ],
    wrap: (store) =>
      override(store, {
        insert: (executions, tx) => store.insert(executions.map((row) => ({ ...row, id: row.id.slice(0, 255) })), tx),
        load: (ids) => store.load(ids.map((id) => id.slice(0, 255))),
      }),
  },
  {
    fault: "cuts names at a NUL",
    caughtBy: ["G24 an id with a NUL within is kept whole or refused, never cut"],
    wrap: (store) =>
      override(store, {
        insert: (executions, tx) => store.insert(executions.map((row) => ({ ...row, id: row.id.split("\0")[0]! })), tx),
      }),
  },
  {
    fault: "claims twice",
    caughtBy: [
      "claimDue() leaves what it handed out alone until its new wake time",
      "claimDue() hands out each execution to one of two connections only",
    ],
    wrap: (store) =>
      override(store, {
        claimDue: async (options) => {
          const claimed = await store.claimDue(options);
          await store.touch(claimed.map((claim) => claim.executionId), options.now);
          return claimed;
        },
      }),
  },
  {
    fault: "loses the attempts of a batch in which another change conflicts",
    caughtBy: ["commit() decides each change of a batch for itself, applies each whole, and answers in order"],
    wrap: (store) =>
      override(store, {
        commit: async (changes) => {
          const stored = await store.load(changes.map((change) => change.execution.id));
          const conflicts = changes.some((change, i) =>
            stored[i]?.execution.revision !== change.execution.revision - 1
          );
          return await store.commit(conflicts ? changes.map((change) => ({ ...change, attempts: [] })) : changes);
        },
      }),
  },
  {
    fault: "drops an attempt that is recorded already, and says that it was committed",
    caughtBy: ["commit() that would record one attempt twice is rejected and writes nothing; the others apply"],
    wrap: (store) =>
      override(store, {
        commit: (changes) =>
          inTurn(changes, async (change) => {
            const [answer] = await store.commit([change]);
            if (answer?.kind !== "rejected" || answer.reason !== "refused") return answer!;
            return (await store.commit([{ ...change, attempts: [] }]))[0]!;
          }),
      }),
  },
  {
    fault: "returns live references",
    caughtBy: ["load() gives a copy: what the caller does to it stays with the caller"],
    wrap: (store) => {
      const handedOut = new Map<string, ExecutionRecord>();
      return override(store, {
        load: async (ids) =>
          (await store.load(ids)).map((record) => {
            if (record === null) return null;
            const key = `${record.execution.revision} ${record.execution.id}`;
            if (!handedOut.has(key)) handedOut.set(key, structuredClone(record));
            return handedOut.get(key)!;
          }),
      });
    },
  },
  {
    fault: "keeps live references",
    caughtBy: [
      "insert() keeps a copy: what the caller does to its rows afterwards stays with the caller",
      "insert() keeps a copy of what is frozen on its surface only",
    ],
    wrap: (store) => {
      const handedIn = new Map<string, Execution>();
      return override(store, {
        insert: (executions, tx) => {
          for (const row of executions) if (!handedIn.has(row.id)) handedIn.set(row.id, row);
          return store.insert(executions, tx);
        },
        load: async (ids) =>
          (await store.load(ids)).map((record) => {
            const input = record === null ? undefined : handedIn.get(record.execution.id)?.input;
            return withExecution(record, input === undefined ? {} : { input });
          }),
      });
    },
  },
  {
    fault: "rounds times",
    caughtBy: ["times keep their microseconds", "times keep any microsecond from 1970 to 2200"],
    wrap: (store) =>
      override(store, {
        insert: (executions, tx) => store.insert(executions.map(rounded), tx),
        commit: (changes) =>
          store.commit(changes.map((change) => ({ ...change, execution: rounded(change.execution) }))),
      }),
  },
  {
    fault: "sorts pages unstably",
    caughtBy: ["load() gives attempts in the order in which they were written, whatever their ids and times"],
    wrap: (store) =>
      override(store, {
        load: async (ids) =>
          (await store.load(ids)).map((record) => {
            if (record === null) return null;
            // By time alone; where that is equal, whatever comes first: here, the last.
            const attempts = record.attempts.toReversed().toSorted((one, other) => one.finishedAt - other.finishedAt);
            return { ...record, attempts };
          }),
      }),
  },
  {
    fault: "sorts signals by their ids",
    caughtBy: ["load() gives signals oldest first", "signal() keeps the order of signals, by name and over all"],
    wrap: (store) =>
      override(store, {
        load: async (ids) =>
          (await store.load(ids)).map((record) => {
            if (record === null) return null;
            return { ...record, signals: record.signals.toSorted((one, other) => one.id < other.id ? -1 : 1) };
          }),
      }),
  },
  {
    fault: "answers a load in the order of its table",
    caughtBy: ["load() answers in the order of the ids, with null where there is none"],
    wrap: (store) => override(store, { load: (ids) => store.load(ids.toSorted()) }),
  },
  {
    fault: "drops a signal that arrived while the record was being worked on",
    caughtBy: ["commit() keeps a signal that arrived after the record was read"],
    wrap: (store) =>
      override(store, {
        commit: (changes) =>
          inTurn(changes, async (change) => {
            const [record] = await store.load([change.execution.id]);
            const all = record?.signals.map((signal) => signal.id) ?? [];
            return (await store.commit([{ ...change, consumed: change.consumed.length === 0 ? [] : all }]))[0]!;
          }),
      }),
  },
  {
    fault: "loses the wake-up of a signal",
    caughtBy: [
      "signal() stores the signal, counts it, wakes the execution, and changes nothing else",
      "signal() wakes what waits for another name, and what does not wait, as well",
    ],
    wrap: (store) =>
      override(store, {
        signal: async (signal) => {
          const [before] = await store.load([signal.executionId]);
          const answer = await store.signal(signal);
          if (answer.kind === "stored") await store.touch([signal.executionId], before?.execution.wakeAt ?? NEVER);
          return answer;
        },
      }),
  },
  {
    fault: "writes the count of signals with a commit",
    caughtBy: ["commit() never writes signalsSeen", "commit() keeps a signal that arrived after the record was read"],
    wrap: (store) => {
      const written = new Map<string, number>();
      return override(store, {
        commit: async (changes) => {
          const answers = await store.commit(changes);
          for (const [index, { execution }] of changes.entries()) {
            if (answers[index]!.kind === "committed") written.set(execution.id, execution.signalsSeen);
          }
          return answers;
        },
        load: async (ids) =>
          (await store.load(ids)).map((record) => {
            const signalsSeen = record === null ? undefined : written.get(record.execution.id);
            return withExecution(record, signalsSeen === undefined ? {} : { signalsSeen });
          }),
      });
    },
  },
  {
    fault: "forgets the senders' ids of consumed signals",
    caughtBy: ["signal() is a duplicate also after the first was consumed"],
    wrap: (store) =>
      override(store, {
        signal: async (signal) => {
          const answer = await store.signal(signal);
          if (answer.kind !== "duplicate") return answer;
          const [record] = await store.load([signal.executionId]);
          const isThere = record?.signals.some((stored) => stored.signalId === signal.signalId);
          return isThere ? answer : await store.signal({ ...signal, signalId: null });
        },
      }),
  },
  {
    fault: "ignores how many signals have arrived",
    caughtBy: ["commit() with signalsSeen 1 is stale when 2 are stored, and writes nothing"],
    wrap: (store) => override(store, { commit: (changes) => store.commit(changes.map(withoutSignalsSeen)) }),
  },
  {
    fault: "ignores whether the lease has ended",
    caughtBy: [
      "commit() with expired is stale a millisecond before the stored due time",
      "commit() with expired is stale when another token is stored",
      "commit() with expired is stale when the lease was renewed meanwhile",
    ],
    wrap: (store) =>
      override(store, { commit: (changes) => store.commit(changes.map((change) => ({ ...change, expired: null }))) }),
  },
  {
    fault: "takes twins in a batch",
    caughtBy: [
      "commit() applies at most one of two changes of one execution in a batch, for one revision",
      "commit() applies at most one of two changes of one execution in a batch, one on top of the other",
    ],
    wrap: (store) =>
      override(store, {
        // One update and two sets of rows, as a single statement with two common table expressions does it.
        commit: async (changes) => {
          const whole = changes.map((change) => changes.filter((twin) => isTwin(twin, change)).reduce(together));
          const answers = await store.commit(whole);
          return answers.map((_, index) => answers[changes.findIndex((twin) => isTwin(twin, changes[index]!))]!);
        },
      }),
  },
  {
    fault: "makes a whole batch stale for one change",
    caughtBy: ["commit() decides each change of a batch for itself, applies each whole, and answers in order"],
    wrap: (store) =>
      override(store, {
        commit: async (changes) => {
          const stored = await store.status(changes.map((change) => change.execution.id));
          const isWhole = changes.every((change, i) => stored[i]?.revision === change.execution.revision - 1);
          return isWhole ? await store.commit(changes) : changes.map(() => ({ kind: "stale" }));
        },
      }),
  },
  {
    fault: "renews a lost token",
    caughtBy: [
      "renew() answers lost, and moves nothing, when another token is stored",
      "renew() answers lost once a commit has opened the attempt under another token",
    ],
    wrap: (store) =>
      override(store, {
        renew: async (leases) => {
          const records = await store.load(leases.map((lease) => lease.executionId));
          return await store.renew(
            leases.map((lease, index) => ({ ...lease, token: records[index]?.execution.owner ?? lease.token })),
          );
        },
      }),
  },
  {
    fault: "keeps a waiting request to itself",
    caughtBy: ["renew() reports the request that waits, and goes on reporting it"],
    wrap: (store) =>
      override(store, {
        renew: async (leases) =>
          (await store.renew(leases)).map((answer) =>
            answer.kind === "renewed" ? { kind: "renewed", request: null } : answer
          ),
      }),
  },
  {
    fault: "serves one partition after the other",
    caughtBy: ["claimDue() goes round the partitions: one with thousands does not delay another"],
    wrap: (store) =>
      override(store, {
        claimDue: async (options) => {
          const claimed: Claimed[] = [];
          for (const partition of options.partitions) {
            const limit = options.limit - claimed.length;
            if (limit > 0) claimed.push(...await store.claimDue({ ...options, partitions: [partition], limit }));
          }
          return claimed;
        },
      }),
  },
  {
    fault: "counts every claim",
    caughtBy: ["claimDue() that does not count leaves resumeCount, and waits by it all the same"],
    wrap: (store) => override(store, { claimDue: (options) => store.claimDue({ ...options, counted: true }) }),
  },
  {
    fault: "takes over when it was not asked to",
    caughtBy: ["claimDue() and nextWake() see open attempts whose lease has ended with takeOver only"],
    wrap: (store) => override(store, { claimDue: (options) => store.claimDue({ ...options, takeOver: true }) }),
  },
  {
    fault: "takes ids that differ in case for one",
    caughtBy: ["ids that look alike are different executions"],
    wrap: (store) =>
      override(store, {
        insert: (executions, tx) => store.insert(executions.map((row) => ({ ...row, id: row.id.toLowerCase() })), tx),
        load: (ids) => store.load(ids.map((id) => id.toLowerCase())),
      }),
  },
  {
    fault: "cuts text at NUL",
    caughtBy: ["text columns never cut a text at NUL: it is kept, cleaned, or refused"],
    wrap: (store) =>
      override(store, {
        commit: (changes) =>
          store.commit(changes.map((change) => ({
            ...change,
            attempts: change.attempts.map((row) => ({
              ...row,
              errorMessage: row.errorMessage?.split("\0")[0] ?? null,
            })),
          }))),
      }),
  },
  {
    fault: "answers a taken id with the caller's own row",
    caughtBy: ["insert() answers a taken id with the row that holds it, and leaves that row alone"],
    wrap: (store) =>
      override(store, {
        insert: async (executions, tx) =>
          (await store.insert(executions, tx)).map((answer, index) =>
            answer.kind === "id_taken" ? { kind: "id_taken", execution: executions[index]! } : answer
          ),
      }),
  },
  {
    fault: "prunes whatever is finished",
    caughtBy: ["prune() deletes the statuses that it is told"],
    wrap: (store) =>
      override(store, {
        prune: (options) =>
          store.prune({ ...options, statuses: ["completed", "compensated", "failed", "compensation_failed"] }),
      }),
  },
];

/** In the year 2200: no test gets there. */
const NEVER = 7_258_118_400_000;

/** The store with some operations replaced. */
function override(store: Store, operations: Partial<Store>): Store {
  return {
    kind: store.kind,
    transactional: store.transactional,
    workers: store.workers,
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
    prune: (options) => store.prune(options),
    now: () => store.now(),
    migrate: (options) => store.migrate(options),
    close: () => store.close(),
    ...operations,
  };
}

async function inTurn<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await run(item));
  return results;
}

function withExecution(record: ExecutionRecord | null, fields: Partial<Execution>): ExecutionRecord | null {
  return record === null ? null : { ...record, execution: { ...record.execution, ...fields } };
}

function withoutSignalsSeen(change: Change): Change {
  return { ...change, signalsSeen: null };
}

function rounded(row: Execution): Execution {
  const round = (at: number | null) => at === null ? null : Math.round(at);
  return {
    ...row,
    dueAt: round(row.dueAt),
    wakeAt: round(row.wakeAt),
    startedAt: Math.round(row.startedAt),
    lastProgressAt: Math.round(row.lastProgressAt),
  };
}

function isTwin(one: Change, other: Change): boolean {
  return one.execution.id === other.execution.id;
}

function together(one: Change, other: Change): Change {
  return {
    ...one,
    attempts: [...one.attempts, ...other.attempts],
    operations: [...one.operations, ...other.operations],
  };
}
