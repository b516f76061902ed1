/**
 * The floor: the rows of the same checkouts, written by hand with node:sqlite into the tables that the store's own
 * migrations make. Nothing is read, decided, checked, or run, and every value is at hand: what an engine on this
 * database can hope for.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { answer, inputOf } from "./checkout.ts";

/** Executions that share each transaction. */
const BATCH = 50;

/** Writes checkouts by hand. */
export interface SqliteFloor {
  /** Writes `n` of them, fifty to a transaction and four transactions to fifty; returns executions per second. */
  throughput(n: number): number;
  /** Writes `count` of them one after another, in four transactions each; returns how long each took, in milliseconds. */
  loneTimes(count: number): number[];
  close(): void;
}

const STEPS = ["reserve", "charge", "ship"] as const;
const RESULTS = ["reservation", "charge", "shipment"] as const;

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

/** A checkout on its way. */
interface Hand {
  readonly id: string;
  readonly token: string;
  readonly startedAt: number;
  context: Record<string, unknown>;
}

/** Opens a file in which a store has made its tables. */
export async function sqliteFloor(path: string): Promise<SqliteFloor> {
  const results = await Promise.all(STEPS.map((step) => answer(`${crypto.randomUUID()}:${step}`)));
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
  let written = 0;

  function write(hands: readonly Hand[]): void {
    within(begin, commit, () => {
      for (const hand of hands) start(hand);
    });
    for (let step = 0; step < STEPS.length; step++) {
      within(begin, commit, () => {
        for (const hand of hands) end(hand, step);
      });
    }
  }

  function start({ id, token, startedAt, context }: Hand): void {
    const input = JSON.stringify(context);
    const fixed = [id, "bench.checkout", 1, null, null, "default", input, null, null, token, null, startedAt, 0];
    insert.run(...fixed, ...running(0, token, startedAt, input));
  }

  function end(hand: Hand, step: number): void {
    const { id, token, startedAt } = hand;
    const now = Date.now() * 1_000;
    const result = { [RESULTS[step]!]: results[step]! };
    hand.context = { ...hand.context, ...result };
    const context = JSON.stringify(hand.context);
    const isLast = step + 1 === STEPS.length;
    const values = isLast ? completed(step, now, startedAt, context) : running(step + 1, token, now, context);
    if (update.run(...values, id, step).changes !== 1) {
      throw new Error(`Cannot update "${id}": it is not as it was left`);
    }
    // deno-fmt-ignore
    insertAttempt.run(
      crypto.randomUUID(), id, STEPS[step]!, "execute", 0, 1, "step", step, "succeeded", startedAt, now,
      now - startedAt, null, null, null, null, JSON.stringify(result), "none", `${id}:${STEPS[step]}`, null, "by-hand",
    );
  }

  return {
    throughput(n) {
      const began = performance.now();
      for (let left = n; left > 0; left -= BATCH) {
        write(Array.from({ length: Math.min(left, BATCH) }, () => hand(written++)));
      }
      return n / (performance.now() - began) * 1_000;
    },
    loneTimes(count) {
      return Array.from({ length: count }, () => {
        const began = performance.now();
        write([hand(written++)]);
        return performance.now() - began;
      });
    },
    close: () => database.close(),
  };
}

function hand(order: number): Hand {
  const now = Date.now();
  // Ascending, as the engine's ids are: where a row lands in its index is a part of what it costs.
  const id = now.toString(16).padStart(12, "0") + crypto.randomUUID().slice(12);
  return { id, token: `by-hand/${order}`, startedAt: now * 1_000, context: inputOf(order) };
}

// deno-fmt-ignore
function running(step: number, token: string, now: number, context: string): (string | number | null)[] {
  const leaseUntil = now + 30_000_000;
  return [
    "running", "execute", STEPS[step]!, 0, 1, now, token, leaseUntil, leaseUntil, null, "none", "step", null, 0, null,
    context, null, null, null, null, null, step, now, null, null,
  ];
}

// deno-fmt-ignore
function completed(step: number, now: number, startedAt: number, context: string): (string | number | null)[] {
  return [
    "completed", "execute", STEPS[step]!, 0, 1, null, null, null, null, null, null, null, null, 0, null,
    context, null, null, null, null, null, step + 1, now, now, (now - startedAt) / 1_000,
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
