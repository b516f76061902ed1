/** The floor on SQLite: every value is bound to a statement of `node:sqlite`, and nothing else is done. */

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type End, type Floor, floorOf, LEASE_MS, type Start, STEPS } from "./by_hand.ts";

/** Opens a file in which a store has made its tables. */
export async function sqliteFloor(path: string): Promise<Floor> {
  const database = new DatabaseSync(path);
  for (const pragma of ["busy_timeout = 5000", "journal_mode = wal", "synchronous = full"]) {
    database.exec(`pragma ${pragma}`);
  }
  const begin = database.prepare("begin immediate");
  const commit = database.prepare("commit");
  const insert = database.prepare(insertOf("saga_executions", [...FIXED, ...CHANGING]));
  const update = database.prepare(
    `update saga_executions set ${CHANGING.map((one) => `"${one}" = ?`).join(", ")} where id = ? and revision = ?`,
  );
  const insertAttempt = database.prepare(insertOf("saga_step_attempts", ATTEMPT));

  function start({ id, token, owner, now: at, input }: Start): void {
    const now = at * 1_000;
    const fixed = [id, "bench.checkout", 1, null, null, "default", input, null, null, token, null, now, 0];
    insert.run(...fixed, ...running(0, owner, now, input));
  }

  function end(step: number, { id, attemptId, owner, context, result, ...times }: End): void {
    const now = times.now * 1_000;
    const startedAt = times.stepStartedAt * 1_000;
    const values = step + 1 === STEPS.length
      ? completed(step, now, times.now - times.startedAt, context)
      : running(step + 1, owner, now, context);
    if (update.run(...values, id, step).changes !== 1) {
      throw new Error(`Cannot update "${id}": it is not as it was left`);
    }
    // deno-fmt-ignore
    insertAttempt.run(
      attemptId, id, STEPS[step]!, "execute", 0, 1, "step", step, "succeeded", startedAt, now,
      times.now - times.stepStartedAt, null, null, null, null, result, "none", `${id}:${STEPS[step]}`, null, "by-hand",
    );
  }

  return await floorOf({
    start(starts) {
      within(begin, commit, () => {
        for (const one of starts) start(one);
      });
    },
    end(step, ends) {
      within(begin, commit, () => {
        for (const one of ends) end(step, one);
      });
    },
    close: () => database.close(),
  });
}

const CHANGING = [
  "status",
  "direction",
  "current_step",
  "epoch",
  "attempt",
  "attempt_started_at",
  "owner",
  "due_at",
  "wake_at",
  "waiting_for",
  "open_undo",
  "open_kind",
  "request",
  "resume_count",
  "deadline_at",
  "context",
  "output",
  "failure",
  "compensation_failure",
  "blocked_reason",
  "active_slot",
  "revision",
  "last_progress_at",
  "finished_at",
  "duration_ms",
];
const FIXED = [
  "id",
  "saga_name",
  "saga_version",
  "resource_type",
  "resource_id",
  "partition",
  "input",
  "active_key",
  "parent_id",
  "start_token",
  "trace",
  "started_at",
  "signals_seen",
];
const ATTEMPT = [
  "id",
  "saga_execution_id",
  "step_name",
  "direction",
  "epoch",
  "attempt",
  "kind",
  "position",
  "status",
  "started_at",
  "finished_at",
  "duration_ms",
  "error_class",
  "error_message",
  "error_backtrace",
  "retry_at",
  "result",
  "undo",
  "key",
  "reason",
  "worker",
];

// deno-fmt-ignore
function running(step: number, owner: string, now: number, context: string): (string | number | null)[] {
  const leaseUntil = now + LEASE_MS * 1_000;
  return [
    "running", "execute", STEPS[step]!, 0, 1, now, owner, leaseUntil, leaseUntil, null, "none", "step", null, 0, null,
    context, null, null, null, null, null, step, now, null, null,
  ];
}

// deno-fmt-ignore
function completed(step: number, now: number, durationMs: number, context: string): (string | number | null)[] {
  return [
    "completed", "execute", STEPS[step]!, 0, 1, null, null, null, null, null, null, null, null, 0, null,
    context, null, null, null, null, null, step + 1, now, now, durationMs,
  ];
}

function insertOf(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.map((one) => `"${one}"`).join(", ")}) values (${
    columns.map(() => "?").join(", ")
  })`;
}

function within(begin: StatementSync, commit: StatementSync, work: () => void): void {
  begin.run();
  work();
  commit.run();
}
