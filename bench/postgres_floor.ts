/** The floor on PostgreSQL: one statement starts many executions, one ends a step of many, and each is one commit. */

import pg from "pg";
import { arrayOf } from "../stores/sql/postgres_dialect.ts";
import { type End, type Floor, floorOf, LEASE_MS, type Pen, type Start, STEPS } from "./by_hand.ts";

/** Writes into the tables of a database, over one connection. */
export async function postgresFloor(url: string): Promise<Floor> {
  const client = new pg.Client({ connectionString: url, fallback_application_name: "floor" });
  client.on("error", () => {});
  await client.connect();
  // As the store has it: plans that were made when the tables were empty are kept.
  for (const setting of ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"]) {
    await client.query(`set ${setting} = off`);
  }

  async function run(name: string, text: string, values: readonly unknown[], count: number): Promise<void> {
    const { rowCount } = await client.query({ name, text, values: [...values] });
    if (rowCount !== count) throw new Error(`Cannot write by hand: ${rowCount} of ${count} rows are as they were left`);
  }

  const pen: Pen = {
    async start(starts) {
      const [only] = starts;
      if (starts.length === 1) await run("start_one", START_ONE, valuesOf(only!), 1);
      else await run("start", START, columnsOf(starts.map(valuesOf)), starts.length);
    },
    async end(step, ends) {
      const isLast = step + 1 === STEPS.length;
      const [only] = ends;
      const name = `${isLast ? "complete" : "go_on"}${ends.length === 1 ? "_one" : ""}`;
      const fixed = [step, STEPS[step], STEPS[step + 1] ?? STEPS[step]];
      if (ends.length === 1) await run(name, isLast ? COMPLETE_ONE : GO_ON_ONE, [...endOf(only!), ...fixed], 1);
      else await run(name, isLast ? COMPLETE : GO_ON, [...columnsOf(ends.map(endOf)), ...fixed], ends.length);
    },
    close: () => client.end(),
  };
  return await floorOf(pen);
}

type Value = string | number;

/** What is handed over for a start, in order: names and types of the statement's input. */
const START_INPUT = { id: "text", token: "text", owner: "text", now: "bigint", input: "json" };
const END_INPUT = {
  id: "text",
  attempt_id: "text",
  owner: "text",
  started: "bigint",
  step_started: "bigint",
  now: "bigint",
  context: "json",
  result: "json",
};

function valuesOf({ id, token, owner, now, input }: Start): Value[] {
  return [id, token, owner, now, input];
}

function endOf({ id, attemptId, owner, startedAt, stepStartedAt, now, context, result }: End): Value[] {
  return [id, attemptId, owner, startedAt, stepStartedAt, now, context, result];
}

function columnsOf(rows: readonly (readonly Value[])[]): string[] {
  return rows[0]!.map((_, at) => arrayOf(rows.map((row) => row[at]!)));
}

function many(input: Readonly<Record<string, string>>): string {
  const arrays = Object.values(input).map((type, at) => `$${at + 1}::text::${type}[]`);
  return `(select * from unnest(${arrays.join(", ")}) as input (${Object.keys(input).join(", ")}))`;
}

function one(input: Readonly<Record<string, string>>): string {
  const values = Object.entries(input).map(([name, type], at) => `$${at + 1}::${type} as ${name}`);
  return `(select ${values.join(", ")})`;
}

const timeOf = (name: string) => `to_timestamp(input.${name} / 1000.0)`;
const leaseFrom = (name: string) => `to_timestamp((input.${name} + ${LEASE_MS}) / 1000.0)`;

const startFrom = (input: string) =>
  `insert into saga_executions (id, saga_name, saga_version, "partition", input, start_token, started_at, signals_seen,
     epoch, direction, status, current_step, attempt, attempt_started_at, owner, open_undo, open_kind, due_at, wake_at,
     resume_count, revision, last_progress_at, context)
   select id, 'bench.checkout', 1, 'default', input, token, ${timeOf("now")}, 0,
     1, 'execute', 'running', '${STEPS[0]}', 1, ${timeOf("now")}, owner, 'none', 'step', ${leaseFrom("now")},
     ${leaseFrom("now")}, 0, 0, ${timeOf("now")}, input
   from ${input} as input`;

/** After the input come the step's number, its name, and that of the next. */
const endFrom = (input: string, changes: string, first: number) =>
  `with input as materialized ${input}, updated as (
     update saga_executions as execution set ${changes}, context = input.context, revision = $${first}::int + 1,
       last_progress_at = ${timeOf("now")}, current_step = $${first + 2}
     from input where execution.id = input.id and execution.revision = $${first}::int
     returning execution.id
   )
   insert into saga_step_attempts (id, saga_execution_id, step_name, direction, epoch, attempt, kind, position, status,
     started_at, finished_at, duration_ms, result, undo, "key", worker)
   select attempt_id, id, $${first + 1}, 'execute', 1, 1, 'step', $${first}::int, 'succeeded',
     ${timeOf("step_started")}, ${timeOf("now")}, now - step_started, result, 'none', id || ':' || $${
    first + 1
  }, 'by-hand-1'
   from input where (id in (select id from updated)) is true`;

const GOING_ON = `attempt_started_at = ${timeOf("now")}, owner = input.owner, due_at = ${leaseFrom("now")},
  wake_at = ${leaseFrom("now")}`;
const COMPLETING = `status = 'completed', attempt_started_at = null, owner = null, due_at = null, wake_at = null,
  open_undo = null, open_kind = null, finished_at = ${timeOf("now")}, duration_ms = input.now - input.started`;

const AFTER_INPUT = Object.keys(END_INPUT).length + 1;
const START = startFrom(many(START_INPUT));
const START_ONE = startFrom(one(START_INPUT));
const GO_ON = endFrom(many(END_INPUT), GOING_ON, AFTER_INPUT);
const GO_ON_ONE = endFrom(one(END_INPUT), GOING_ON, AFTER_INPUT);
const COMPLETE = endFrom(many(END_INPUT), COMPLETING, AFTER_INPUT);
const COMPLETE_ONE = endFrom(one(END_INPUT), COMPLETING, AFTER_INPUT);
