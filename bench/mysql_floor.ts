/**
 * The floor on MySQL and MariaDB: one round trip starts many executions, and one ends a step of many, in a transaction of
 * an update and an insert.
 */

import { createConnection, type ResultSetHeader } from "mysql2/promise";
import { literal } from "../stores/sql/mysql_text.ts";
import { type End, type Floor, floorOf, LEASE_MS, type Pen, type Start, STEPS } from "./by_hand.ts";

/** Writes into the tables of a database, over one connection. */
export async function mysqlFloor(url: string): Promise<Floor> {
  const connection = await createConnection({ uri: url, multipleStatements: true, charset: "utf8mb4", timezone: "Z" });
  const pen: Pen = {
    async start(starts) {
      const [result] = await connection.query(startText(starts));
      check(result as ResultSetHeader, starts.length);
    },
    async end(step, ends) {
      const update = ends.length === 1 ? updateOne(step, ends[0]!) : updateMany(step, ends);
      const [results] = await connection.query(`start transaction; ${update}; ${attemptsText(step, ends)}; commit`);
      check((results as unknown as readonly ResultSetHeader[])[1]!, ends.length);
    },
    close: () => connection.end(),
  };
  return await floorOf(pen);
}

function check({ affectedRows }: ResultSetHeader, count: number): void {
  if (affectedRows === count) return;
  throw new Error(`Cannot write by hand: ${affectedRows} of ${count} rows are as they were left`);
}

/** Instants are whole microseconds. */
function micros(ms: number): string {
  return `${ms}000`;
}

function startText(starts: readonly Start[]): string {
  const rows = starts.map(({ id, input, now, owner, token }) => {
    const [at, until] = [micros(now), micros(now + LEASE_MS)];
    return `(${literal(id)}, 'bench.checkout', 1, 'default', ${literal(input)}, ${
      literal(token)
    }, ${at}, 0, 1, 'execute',
      'running', '${STEPS[0]}', 1, ${at}, ${literal(owner)}, 'none', 'step', ${until}, ${until}, 0, 0, ${at},
      ${literal(input)})`;
  });
  return `insert into saga_executions (id, saga_name, saga_version, \`partition\`, input, start_token, started_at,
    signals_seen, epoch, direction, status, current_step, attempt, attempt_started_at, owner, open_undo, open_kind, due_at,
    wake_at, resume_count, revision, last_progress_at, context) values ${rows.join(", ")}`;
}

function attemptsText(step: number, ends: readonly End[]): string {
  const name = STEPS[step]!;
  const rows = ends.map(({ attemptId, id, now, result, stepStartedAt }) =>
    `(${literal(attemptId)}, ${literal(id)}, '${name}', 'execute', 1, 1, 'step', ${step}, 'succeeded',
      ${micros(stepStartedAt)}, ${micros(now)}, ${now - stepStartedAt}, ${literal(result)}, 'none',
      ${literal(`${id}:${name}`)}, 'by-hand-1')`
  );
  return `insert into saga_step_attempts (id, saga_execution_id, step_name, direction, epoch, attempt, kind, position,
    status, started_at, finished_at, duration_ms, result, \`undo\`, \`key\`, worker) values ${rows.join(", ")}`;
}

/** From a table that the server makes of JSON: of what was tried, the fastest that has a guard. */
function updateMany(step: number, ends: readonly End[]): string {
  const input = JSON.stringify(
    ends.map(({ context, id, now, owner, startedAt }) => [id, owner, context, now - startedAt]),
  );
  return `update json_table(${
    literal(input)
  }, '$[*]' columns (id varchar(255) path '$[0]', owner varchar(512) path '$[1]',
      context longtext path '$[2]', duration double path '$[3]')) as input
    straight_join saga_executions as execution on execution.id = input.id and execution.revision = ${step}
    set ${changes(step, ends[0]!.now, { owner: "input.owner", context: "input.context", duration: "input.duration" })}`;
}

/** For one row the table of JSON would cost more than the update. */
function updateOne(step: number, { context, id, now, owner, startedAt }: End): string {
  const values = { owner: literal(owner), context: literal(context), duration: String(now - startedAt) };
  return `update saga_executions as execution set ${changes(step, now, values)}
    where execution.id = ${literal(id)} and execution.revision = ${step}`;
}

function changes(
  step: number,
  now: number,
  { context, duration, owner }: { readonly context: string; readonly duration: string; readonly owner: string },
): string {
  const [at, until] = [micros(now), micros(now + LEASE_MS)];
  const always = `execution.context = ${context}, execution.revision = ${step + 1}, execution.last_progress_at = ${at}`;
  return step + 1 < STEPS.length
    ? `${always}, execution.current_step = '${STEPS[step + 1]}', execution.attempt_started_at = ${at},
       execution.owner = ${owner}, execution.due_at = ${until}, execution.wake_at = ${until}`
    : `${always}, execution.status = 'completed', execution.attempt_started_at = null, execution.owner = null,
       execution.due_at = null, execution.wake_at = null, execution.open_undo = null, execution.open_kind = null,
       execution.finished_at = ${at}, execution.duration_ms = ${duration}`;
}
