/**
 * The tables on MySQL and MariaDB, as a list of migrations that is only ever appended to.
 *
 * These servers commit with every statement that changes a table, so a migration may stop half way. Each statement
 * creates what is absent and leaves what is there: repeated from the beginning, it goes on where it stopped. That is why
 * the indexes stand within the tables, and why this is a list of its own: an index is limited to 3,072 bytes, at four for
 * each character, so that here every column has a length.
 *
 * Each index serves a query, named beside it. Neither server has indexes of some rows only, so each holds all.
 */

import { SagaError } from "../../src/errors.ts";
import type { Dialect } from "./dialect.ts";
import type { Migration } from "./schema.ts";
import { rows, type Steps } from "./work.ts";

/** All migrations, oldest first. */
export const MYSQL_MIGRATIONS: readonly Migration[] = [
  { version: 1, olderMayRun: false, statements: createTables },
];

/** Refuses tables of our names that are somebody else's: `create table if not exists` would take them for ours. */
export function* refuseStrangers(): Steps<void> {
  const columns = yield* rows(
    "select column_name as name from information_schema.columns" +
      " where table_schema = database() and table_name = 'saga_executions'",
    [],
  );
  if (columns.length === 0 || columns.some((column) => column.name === "revision")) return;
  throw new SagaError(
    "schema_missing",
    "Cannot migrate the database: it has a table saga_executions of another system; rename that, or use another database",
  );
}

/** An id: at most 255 bytes. */
const ID = "varchar(255)";
/** What is made of an id and a name: a key, an active slot, a token. */
const KEY = "varchar(512)";
/** One of a few words. */
const WORD = "varchar(32)";

function createTables({ types, tableOptions }: Dialect): readonly string[] {
  const { integer, real, instant, json, text, sequence } = types;
  return [
    // claimDue and nextWake: wake, the oldest wake times of one partition; null, of the finished, sorts before them.
    // active_slot: one active execution per key, and the answer to who holds it.
    // blocked: those that came to a stop because nobody knew their definition. finished: the oldest of these, for prune.
    `create table if not exists saga_executions (
  id ${ID} not null primary key,
  saga_name ${ID} not null,
  saga_version ${integer} not null,
  resource_type ${KEY},
  resource_id ${KEY},
  "partition" ${ID} not null,
  input ${json} not null,
  active_key ${KEY},
  parent_id ${KEY},
  start_token ${KEY},
  trace ${text},
  started_at ${instant} not null,
  deadline_at ${instant},
  active_slot ${KEY},
  signals_seen ${integer} not null,
  epoch ${integer} not null,
  status ${WORD} not null,
  direction ${WORD} not null,
  current_step ${ID} not null,
  attempt ${integer} not null,
  attempt_started_at ${instant},
  owner ${KEY},
  due_at ${instant},
  wake_at ${instant},
  open_undo ${WORD},
  open_kind ${WORD},
  open_branches ${json},
  resume_count ${integer} not null,
  context ${json} not null,
  revision ${integer} not null,
  last_progress_at ${instant} not null,
  waiting_for ${KEY},
  request ${json},
  output ${json},
  failure ${json},
  compensation_failure ${json},
  blocked_reason ${WORD},
  finished_at ${instant},
  duration_ms ${real},
  key saga_executions_wake ("partition", wake_at),
  unique key saga_executions_active_slot (active_slot),
  key saga_executions_blocked (blocked_reason),
  key saga_executions_finished (finished_at)
)${tableOptions}`,

    // once: an attempt is recorded once. load and prune: the attempts of an execution.
    `create table if not exists saga_step_attempts (
  sequence ${sequence},
  id ${ID} not null,
  saga_execution_id ${ID} not null,
  step_name ${ID} not null,
  direction ${WORD} not null,
  epoch ${integer} not null,
  attempt ${integer} not null,
  kind ${WORD} not null,
  position ${integer} not null,
  status ${WORD} not null,
  started_at ${instant} not null,
  finished_at ${instant} not null,
  duration_ms ${real} not null,
  error_class ${text},
  error_message ${text},
  error_backtrace ${text},
  retry_at ${instant},
  result ${json},
  "undo" ${WORD} not null,
  "key" ${KEY} not null,
  reason ${text},
  worker ${KEY},
  unique key saga_step_attempts_once (saga_execution_id, step_name, direction, epoch, attempt)
)${tableOptions}`,

    // once: a signal id is stored once; nulls do not collide. load, commit and prune: the signals of an execution.
    `create table if not exists saga_signals (
  sequence ${sequence},
  id ${ID} not null,
  saga_execution_id ${ID} not null,
  name ${ID} not null,
  payload ${json},
  signal_id ${ID},
  created_at ${instant} not null,
  consumed_at ${instant},
  unique key saga_signals_once (saga_execution_id, signal_id)
)${tableOptions}`,

    // operations and prune: the operations of an execution.
    `create table if not exists saga_operations (
  sequence ${sequence},
  id ${ID} not null,
  saga_execution_id ${ID} not null,
  action ${WORD} not null,
  actor ${text},
  reason ${text},
  detail ${json},
  at ${instant} not null,
  key saga_operations_execution (saga_execution_id)
)${tableOptions}`,

    `create table if not exists saga_workers (
  id ${ID} not null primary key,
  partitions ${json} not null,
  definitions ${json} not null,
  seen_at ${instant} not null,
  until ${instant} not null
)${tableOptions}`,
  ];
}
