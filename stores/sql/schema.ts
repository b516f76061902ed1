/**
 * The tables, as a list of migrations that is only ever appended to.
 *
 * Each index serves a query, named beside it; what no query needs is paid for by every commit. `last_progress_at` is in
 * none, and of the columns that every step changes at most `wake_at` is in one.
 */

import type { Instant } from "../../src/domain/record.ts";
import { SagaError } from "../../src/errors.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { change, rows, type Steps, type Work } from "./work.ts";

/** One step of the schema's history. Never changed once released. */
export interface Migration {
  readonly version: number;
  /** Whether code that knows only the versions before may go on using the database. */
  readonly olderMayRun: boolean;
  statements(dialect: Dialect): readonly string[];
}

/** All migrations, oldest first. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, olderMayRun: false, statements: createTables },
];

/** Brings a database's tables to a version. */
export interface Migrator {
  /** Whether migrations are missing; throws `schema_newer`. */
  isPending(): Work<boolean>;
  /** Applies what is missing, in a transaction of the caller's that locks out others; throws `schema_newer`. */
  migrate(now: Instant): Work<void>;
}

/** The migrator of a database. */
export function migrator(dialect: Dialect, migrations: readonly Migration[] = MIGRATIONS): Migrator {
  const newest = migrations.at(-1)?.version ?? 0;
  const exists = dialect.text(dialect.tableExists);
  const applied = dialect.text("select version, older_may_run from leveret_schema order by version");
  const record = dialect.text(
    `insert into leveret_schema (version, older_may_run, applied_at) values (?, ?, ${dialect.parameter("instant")})`,
  );

  function* missing(): Steps<readonly Migration[]> {
    if ((yield* rows(exists, ["leveret_schema"])).length === 0) return migrations;
    const found = yield* rows(applied, []);
    const tooNew = found.find((row) => Number(row.version) > newest && Number(row.older_may_run) === 0);
    if (tooNew !== undefined) {
      throw new SagaError(
        "schema_newer",
        `Cannot use the database: its schema has version ${tooNew.version}, this code knows ${newest}; update @leveret/saga`,
      );
    }
    const versions = new Set(found.map((row) => Number(row.version)));
    return migrations.filter(({ version }) => !versions.has(version));
  }

  return {
    isPending() {
      return function* () {
        return (yield* missing()).length > 0;
      };
    },
    migrate(now) {
      return function* () {
        const pending = yield* missing();
        if (pending.length > 0) yield* change(dialect.text(createSchemaTable(dialect)), []);
        for (const migration of pending) {
          for (const sql of migration.statements(dialect)) yield* change(dialect.text(sql), []);
          const olderMayRun = migration.olderMayRun ? 1 : 0;
          yield* change(record, [migration.version, olderMayRun, encodeInstant(dialect, now, "applied_at")]);
        }
      };
    },
  };
}

function createSchemaTable({ types, tableOptions }: Dialect): string {
  return `create table if not exists leveret_schema (
  version ${types.integer} not null primary key,
  older_may_run ${types.integer} not null,
  applied_at ${types.instant} not null
)${tableOptions}`;
}

function createTables({ types, tableOptions, onlyWhere, wake, afterTables }: Dialect): readonly string[] {
  return [
    // What never changes stands first: a database that logs only where a row differs has less to write at every step.
    `create table saga_executions (
  id ${types.name} not null primary key,
  saga_name ${types.name} not null,
  saga_version ${types.integer} not null,
  resource_type ${types.name},
  resource_id ${types.name},
  "partition" ${types.name} not null,
  input ${types.json} not null,
  active_key ${types.name},
  parent_id ${types.name},
  start_token ${types.name},
  trace ${types.text},
  started_at ${types.instant} not null,
  deadline_at ${types.instant},
  active_slot ${types.name},
  signals_seen ${types.integer} not null,
  epoch ${types.integer} not null,
  direction ${types.name} not null,
  status ${types.name} not null,
  current_step ${types.name} not null,
  attempt ${types.integer} not null,
  attempt_started_at ${types.instant},
  owner ${types.name},
  open_undo ${types.name},
  open_kind ${types.name},
  open_branches ${types.json},
  due_at ${types.instant},
  wake_at ${types.instant},
  resume_count ${types.integer} not null,
  revision ${types.integer} not null,
  last_progress_at ${types.instant} not null,
  waiting_for ${types.name},
  context ${types.json} not null,
  request ${types.json},
  output ${types.json},
  failure ${types.json},
  compensation_failure ${types.json},
  blocked_reason ${types.name},
  finished_at ${types.instant},
  duration_ms ${types.real}${wake.column}
)${tableOptions}`,
    // claimDue, nextWake: the oldest wake times of one partition, without a look at the finished.
    `create index saga_executions_wake on saga_executions ("partition", ${wake.indexed})${
      onlyWhere(`${wake.indexed} is not null`)
    }`,
    // One active execution per key, and the answer to who holds it.
    `create unique index saga_executions_active_slot on saga_executions (active_slot)${
      onlyWhere("active_slot is not null")
    }`,
    // unserved: those that came to a stop because nobody knew their definition.
    `create index saga_executions_blocked on saga_executions (blocked_reason)${
      onlyWhere("blocked_reason is not null")
    }`,
    // prune: the oldest of the finished.
    `create index saga_executions_finished on saga_executions (finished_at)${onlyWhere("finished_at is not null")}`,

    `create table saga_step_attempts (
  sequence ${types.sequence},
  id ${types.name} not null,
  saga_execution_id ${types.name} not null,
  step_name ${types.name} not null,
  direction ${types.name} not null,
  epoch ${types.integer} not null,
  attempt ${types.integer} not null,
  kind ${types.name} not null,
  position ${types.integer} not null,
  status ${types.name} not null,
  started_at ${types.instant} not null,
  finished_at ${types.instant} not null,
  duration_ms ${types.real} not null,
  error_class ${types.text},
  error_message ${types.text},
  error_backtrace ${types.text},
  retry_at ${types.instant},
  result ${types.json},
  undo ${types.name} not null,
  "key" ${types.name} not null,
  reason ${types.text},
  worker ${types.name}
)${tableOptions}`,
    // An attempt is recorded once. load and prune: the attempts of an execution.
    `create unique index saga_step_attempts_once on saga_step_attempts
  (saga_execution_id, step_name, direction, epoch, attempt)`,

    `create table saga_signals (
  sequence ${types.sequence},
  id ${types.name} not null,
  saga_execution_id ${types.name} not null,
  name ${types.name} not null,
  payload ${types.json},
  signal_id ${types.name},
  created_at ${types.instant} not null,
  consumed_at ${types.instant}
)${tableOptions}`,
    // A signal id is stored once; nulls do not collide. load, commit and prune: the signals of an execution.
    `create unique index saga_signals_once on saga_signals (saga_execution_id, signal_id)`,

    `create table saga_operations (
  sequence ${types.sequence},
  id ${types.name} not null,
  saga_execution_id ${types.name} not null,
  action ${types.name} not null,
  actor ${types.text},
  reason ${types.text},
  detail ${types.json},
  at ${types.instant} not null
)${tableOptions}`,
    // operations and prune: the operations of an execution.
    `create index saga_operations_execution on saga_operations (saga_execution_id)`,

    `create table saga_workers (
  id ${types.name} not null primary key,
  partitions ${types.json} not null,
  definitions ${types.json} not null,
  seen_at ${types.instant} not null,
  until ${types.instant} not null
)${tableOptions}`,
    ...afterTables,
  ];
}
