/**
 * The history of the tables: a list of migrations that is only ever appended to.
 *
 * **To add one**, write `{ version, olderMayRun, changes }` at the end of {@linkcode MIGRATIONS}, with the changes that
 * `tables.ts` makes: `addTable`, `addColumn`, `addIndex`. All databases take them from here, and the way back follows
 * from them. What differs between databases is a member of the dialect that `changes` is given.
 *
 * Each index serves a query, named beside it; what no query needs is paid for by every commit. `last_progress_at` is in
 * none, and of the columns that every step changes at most `wake_at` is in one.
 */

import type { Dialect } from "./dialect.ts";
import {
  addColumn,
  addDerivedColumn,
  addIndex,
  addTable,
  key,
  optional,
  removeIndex,
  required,
  type SchemaChange,
  SEQUENCE,
} from "./tables.ts";

/** One step of the schema's history. Never changed once released. */
export interface Migration {
  readonly version: number;
  /** Whether code that knows only the versions before may go on using the database. */
  readonly olderMayRun: boolean;
  changes(dialect: Dialect): readonly SchemaChange[];
}

/** All migrations, oldest first, with versions from 1 and without gaps. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, olderMayRun: false, changes: firstTables },
  // Which branches of a workflow's parallel run. Workers that know only version 1 know no workflow either.
  {
    version: 2,
    olderMayRun: true,
    changes: () => [addColumn("saga_executions", optional("open_branches", "json"))],
  },
  // Older workers may go on: what fails on them is missing among the groups of errors, and nothing else.
  { version: 3, olderMayRun: true, changes: consoleQueries },
];

const GIVEN: unique symbol = Symbol("migrations");

/** Options of a store with other migrations than {@linkcode MIGRATIONS}: of the version before, or of the next one. */
export function withMigrations<Options extends object>(options: Options, migrations: readonly Migration[]): Options {
  return { ...options, [GIVEN]: migrations };
}

/** The migrations that a store of these options knows. */
export function migrationsOf(options: object): readonly Migration[] {
  return (options as { readonly [GIVEN]?: readonly Migration[] })[GIVEN] ?? MIGRATIONS;
}

const FINISHED = addIndex("saga_executions_finished", "saga_executions", {
  columns: ["finished_at"],
  where: "finished_at is not null",
});

function firstTables({ wake, afterTables }: Dialect): readonly SchemaChange[] {
  return [
    // What never changes stands first: a database that logs only where a row differs has less to write at every step.
    addTable("saga_executions", [
      key("id", "id"),
      required("saga_name", "id"),
      required("saga_version", "integer"),
      optional("resource_type", "key"),
      optional("resource_id", "key"),
      required("partition", "id"),
      required("input", "json"),
      optional("active_key", "key"),
      optional("parent_id", "key"),
      optional("start_token", "key"),
      optional("trace", "text"),
      required("started_at", "instant"),
      optional("deadline_at", "instant"),
      optional("active_slot", "key"),
      required("signals_seen", "integer"),
      required("epoch", "integer"),
      required("direction", "word"),
      required("status", "word"),
      required("current_step", "id"),
      required("attempt", "integer"),
      optional("attempt_started_at", "instant"),
      optional("owner", "key"),
      optional("open_undo", "word"),
      optional("open_kind", "word"),
      optional("due_at", "instant"),
      optional("wake_at", "instant"),
      required("resume_count", "integer"),
      required("revision", "integer"),
      required("last_progress_at", "instant"),
      optional("waiting_for", "key"),
      required("context", "json"),
      optional("request", "json"),
      optional("output", "json"),
      optional("failure", "json"),
      optional("compensation_failure", "json"),
      optional("blocked_reason", "word"),
      optional("finished_at", "instant"),
      optional("duration_ms", "real"),
    ], wake.computed),
    // claimDue, nextWake: the oldest wake times of one partition, without a look at the finished.
    addIndex("saga_executions_wake", "saga_executions", {
      columns: ["partition", wake.indexed],
      where: `${wake.indexed} is not null`,
    }),
    // One active execution per key, and the answer to who holds it.
    addIndex("saga_executions_active_slot", "saga_executions", {
      columns: ["active_slot"],
      isUnique: true,
      where: "active_slot is not null",
    }),
    // unserved: those that came to a stop because nobody knew their definition.
    addIndex("saga_executions_blocked", "saga_executions", {
      columns: ["blocked_reason"],
      where: "blocked_reason is not null",
    }),
    // prune: the oldest of the finished.
    FINISHED,

    addTable("saga_step_attempts", [
      SEQUENCE,
      required("id", "id"),
      required("saga_execution_id", "id"),
      required("step_name", "id"),
      required("direction", "word"),
      required("epoch", "integer"),
      required("attempt", "integer"),
      required("kind", "word"),
      required("position", "integer"),
      required("status", "word"),
      required("started_at", "instant"),
      required("finished_at", "instant"),
      required("duration_ms", "real"),
      optional("error_class", "text"),
      optional("error_message", "text"),
      optional("error_backtrace", "text"),
      optional("retry_at", "instant"),
      optional("result", "json"),
      required("undo", "word"),
      required("key", "key"),
      optional("reason", "text"),
      optional("worker", "key"),
    ]),
    // An attempt is recorded once. load and prune: the attempts of an execution.
    addIndex("saga_step_attempts_once", "saga_step_attempts", {
      columns: ["saga_execution_id", "step_name", "direction", "epoch", "attempt"],
      isUnique: true,
    }),

    addTable("saga_signals", [
      SEQUENCE,
      required("id", "id"),
      required("saga_execution_id", "id"),
      required("name", "id"),
      optional("payload", "json"),
      optional("signal_id", "id"),
      required("created_at", "instant"),
      optional("consumed_at", "instant"),
    ]),
    // A signal id is stored once; nulls do not collide. load, commit and prune: the signals of an execution.
    addIndex("saga_signals_once", "saga_signals", { columns: ["saga_execution_id", "signal_id"], isUnique: true }),

    addTable("saga_operations", [
      SEQUENCE,
      required("id", "id"),
      required("saga_execution_id", "id"),
      required("action", "word"),
      optional("actor", "text"),
      optional("reason", "text"),
      optional("detail", "json"),
      required("at", "instant"),
    ]),
    // operations and prune: the operations of an execution.
    addIndex("saga_operations_execution", "saga_operations", { columns: ["saga_execution_id"] }),

    addTable("saga_workers", [
      key("id", "id"),
      required("partitions", "json"),
      required("definitions", "json"),
      required("seen_at", "instant"),
      required("until", "instant"),
    ]),
    { kind: "statements", up: afterTables, down: [] },
  ];
}

/**
 * What the console's queries need. None of these indexes holds what a step changes: all are written when an execution
 * starts and when it ends, and those of some rows only then or never.
 *
 * Measured on PostgreSQL, a three-step execution costs 4.7 KB of log with them if it has a resource and 4.4 KB if it has
 * none, 3.8 KB without them; postgres_log_test.ts keeps it below 5 KB. Ids are in none of them: rows of one time are
 * sorted by their ids as they are read.
 */
function consoleQueries({ jsonArray }: Dialect): readonly SchemaChange[] {
  const saga = "(select saga_name from saga_executions where saga_executions.id = saga_execution_id)";
  const group = jsonArray(
    "coalesce(substr(error_class, 1, 80), '')",
    "coalesce(substr(error_message, 1, 120), '')",
    saga,
    "step_name",
    "direction",
  );
  return [
    // list, count: all, the latest first; and those of a saga. throughput: what started in a range.
    addIndex("saga_executions_started", "saga_executions", { columns: ["started_at"] }),
    addIndex("saga_executions_saga", "saga_executions", { columns: ["saga_name", "started_at"] }),
    // inProgress, stalled: what has not finished. list, count: of a status, except the one that nearly all have.
    addIndex("saga_executions_status", "saga_executions", {
      columns: ["status", "started_at"],
      where: "status <> 'completed'",
    }),
    addIndex("saga_executions_saga_status", "saga_executions", {
      columns: ["saga_name", "status", "started_at"],
      where: "status <> 'completed'",
    }),
    // list: the longest or shortest first.
    addIndex("saga_executions_took", "saga_executions", {
      columns: ["duration_ms"],
      where: "duration_ms is not null",
    }),
    // finishedSince, throughput: what ended in a range, and how, without a look at the rows. prune: the oldest of these.
    addIndex("saga_executions_ended", "saga_executions", {
      columns: ["finished_at", "status", "saga_name"],
      where: "finished_at is not null",
    }),
    removeIndex(FINISHED),
    // list: what else happened to an order, and the children of an execution.
    addIndex("saga_executions_resource", "saga_executions", {
      columns: ["resource_type", "resource_id", "started_at"],
      where: "resource_type is not null",
      prefixes: { resource_type: 128, resource_id: 255 },
    }),
    addIndex("saga_executions_parent", "saga_executions", {
      columns: ["parent_id"],
      where: "parent_id is not null",
    }),

    // As error_group.ts makes it, though with the numbers that are in a message: SQL has no way to take them out.
    addDerivedColumn("saga_step_attempts", optional("error_group", "text")),
    {
      kind: "statements",
      up: [
        `update saga_step_attempts set error_group = ${group}
          where error_group is null and status in ('failed', 'abandoned')`,
      ],
      down: [],
    },
    // failures, errorGroups, list by an error: what failed in a range, without a look at the rows.
    addIndex("saga_step_attempts_failed", "saga_step_attempts", {
      columns: ["status", "finished_at", "error_group", "saga_execution_id"],
      where: "error_group is not null",
      prefixes: { error_group: 100 },
    }),
  ];
}
