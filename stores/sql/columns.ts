/** The mapping between records and rows: which property is which column, and how each kind of value is stored. */

import type { Change } from "../../src/domain/change.ts";
import { errorGroupOf } from "../../src/domain/error_group.ts";
import { cleanText, MAX_BACKTRACE, MAX_MESSAGE } from "../../src/domain/failure.ts";
import type { Attempt, Execution, Instant, Operation, Signal } from "../../src/domain/record.ts";
import { SagaError, show } from "../../src/errors.ts";
import type { WorkerRow } from "../../src/store.ts";
import type { ColumnTypes, Dialect } from "./dialect.ts";
import type { Row, SqlValue } from "./work.ts";

/** Columns of a table, or of a part of it, and the way from a record to its values and back. */
export interface Mapping<T> {
  readonly columns: readonly string[];
  /** The type of each column. */
  readonly types: readonly (keyof ColumnTypes)[];
  /** What a select lists so that {@linkcode Mapping.decode} can read its rows, with commas. */
  readonly selected: string;
  /** Null passes through as null. Throws `not_storable` for what the column cannot keep as it is. */
  encode(record: T): SqlValue[];
  decode(row: Row): T;
}

/** All mappings for one database. */
export interface Mappings {
  readonly execution: Mapping<Execution>;
  /** The part of an execution that commits write. */
  readonly progress: Mapping<Execution>;
  /** The part of an execution that a list shows. */
  readonly shown: Mapping<ShownExecution>;
  readonly attempt: Mapping<Attempt>;
  /** An attempt as commits insert it. */
  readonly newAttempt: Mapping<NewAttempt>;
  readonly signal: Mapping<Signal>;
  readonly operation: Mapping<Operation>;
  readonly worker: Mapping<WorkerRow>;
}

/** What a list shows of an execution, as far as it stands in its row. */
export type ShownExecution = Pick<Execution, keyof typeof SHOWN>;

/** An attempt with the group of its error, by which the console's queries find it; null unless it has failed. */
export interface NewAttempt extends Attempt {
  readonly errorGroup: string | null;
}

/** The attempts that a change adds. */
export function newAttemptsOf({ execution, attempts }: Change): readonly NewAttempt[] {
  return attempts.map((row) => ({ ...row, errorGroup: errorGroupOf(row, execution.sagaName) }));
}

/** The mappings as a database stores them. */
export function mappings(dialect: Dialect): Mappings {
  return {
    execution: mapping<Execution>(dialect, EXECUTION),
    progress: mapping<Execution>(dialect, PROGRESS),
    shown: mapping<ShownExecution>(dialect, SHOWN),
    attempt: mapping<Attempt>(dialect, ATTEMPT),
    newAttempt: mapping<NewAttempt>(dialect, NEW_ATTEMPT),
    signal: mapping<Signal>(dialect, SIGNAL),
    operation: mapping<Operation>(dialect, OPERATION),
    worker: mapping<WorkerRow>(dialect, WORKER),
  };
}

/** Column names for a statement, quoted, with commas. */
export function listOf(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}

/** An insert of one row with the columns of a mapping. */
export function insertInto<T>(dialect: Dialect, table: string, { columns, types }: Mapping<T>): string {
  const parameters = types.map((type) => dialect.parameter(type)).join(", ");
  return `insert into ${table} (${listOf(columns)}) values (${parameters})`;
}

/** How a column keeps its values. */
type Kind = "name" | "prose" | "integer" | "real" | "instant" | "json";

interface Column {
  readonly column: string;
  readonly kind: Kind;
  readonly maxLength: number;
}

/** A text that has to come back byte by byte. */
const name = (column: string): Column => ({ column, kind: "name", maxLength: Infinity });
/** A text for people: what a database cannot keep of it is taken out. */
const prose = (column: string, maxLength = Infinity): Column => ({ column, kind: "prose", maxLength });
const integer = (column: string): Column => ({ column, kind: "integer", maxLength: 0 });
const real = (column: string): Column => ({ column, kind: "real", maxLength: 0 });
const instant = (column: string): Column => ({ column, kind: "instant", maxLength: 0 });
const json = (column: string): Column => ({ column, kind: "json", maxLength: 0 });

/** What never changes after the insert. Commits leave it out: a column that is not set costs nothing. */
const ORIGIN = {
  id: name("id"),
  sagaName: name("saga_name"),
  sagaVersion: integer("saga_version"),
  resourceType: name("resource_type"),
  resourceId: name("resource_id"),
  partition: name("partition"),
  input: json("input"),
  activeKey: name("active_key"),
  parentId: name("parent_id"),
  startToken: name("start_token"),
  trace: prose("trace"),
  startedAt: instant("started_at"),
} satisfies Partial<Record<keyof Execution, Column>>;

/** What commits write. `signalsSeen` is not among it: only the storing of a signal raises it. */
const PROGRESS = {
  status: name("status"),
  direction: name("direction"),
  currentStep: name("current_step"),
  epoch: integer("epoch"),
  attempt: integer("attempt"),
  attemptStartedAt: instant("attempt_started_at"),
  owner: name("owner"),
  dueAt: instant("due_at"),
  wakeAt: instant("wake_at"),
  waitingFor: name("waiting_for"),
  openUndo: name("open_undo"),
  openKind: name("open_kind"),
  openBranches: json("open_branches"),
  request: json("request"),
  resumeCount: integer("resume_count"),
  deadlineAt: instant("deadline_at"),
  context: json("context"),
  output: json("output"),
  failure: json("failure"),
  compensationFailure: json("compensation_failure"),
  blockedReason: name("blocked_reason"),
  activeSlot: name("active_slot"),
  revision: integer("revision"),
  lastProgressAt: instant("last_progress_at"),
  finishedAt: instant("finished_at"),
  durationMs: real("duration_ms"),
} satisfies Partial<Record<keyof Execution, Column>>;

const EXECUTION = {
  ...ORIGIN,
  ...PROGRESS,
  signalsSeen: integer("signals_seen"),
} satisfies Record<keyof Execution, Column>;

const SHOWN = {
  id: name("id"),
  sagaName: name("saga_name"),
  sagaVersion: integer("saga_version"),
  resourceType: name("resource_type"),
  resourceId: name("resource_id"),
  partition: name("partition"),
  parentId: name("parent_id"),
  status: name("status"),
  direction: name("direction"),
  currentStep: name("current_step"),
  epoch: integer("epoch"),
  attempt: integer("attempt"),
  owner: name("owner"),
  attemptStartedAt: instant("attempt_started_at"),
  dueAt: instant("due_at"),
  waitingFor: name("waiting_for"),
  blockedReason: name("blocked_reason"),
  startedAt: instant("started_at"),
  lastProgressAt: instant("last_progress_at"),
  finishedAt: instant("finished_at"),
  durationMs: real("duration_ms"),
  failure: json("failure"),
  compensationFailure: json("compensation_failure"),
} satisfies Partial<Record<keyof Execution, Column>>;

const ATTEMPT = {
  id: name("id"),
  executionId: name("saga_execution_id"),
  stepName: name("step_name"),
  direction: name("direction"),
  epoch: integer("epoch"),
  attempt: integer("attempt"),
  kind: name("kind"),
  position: integer("position"),
  status: name("status"),
  startedAt: instant("started_at"),
  finishedAt: instant("finished_at"),
  durationMs: real("duration_ms"),
  errorClass: prose("error_class"),
  errorMessage: prose("error_message", MAX_MESSAGE),
  errorBacktrace: prose("error_backtrace", MAX_BACKTRACE),
  retryAt: instant("retry_at"),
  result: json("result"),
  undo: name("undo"),
  key: name("key"),
  reason: prose("reason"),
  worker: name("worker"),
} satisfies Record<keyof Attempt, Column>;

const NEW_ATTEMPT = {
  ...ATTEMPT,
  errorGroup: prose("error_group"),
} satisfies Record<keyof NewAttempt, Column>;

const SIGNAL = {
  id: name("id"),
  executionId: name("saga_execution_id"),
  name: name("name"),
  payload: json("payload"),
  signalId: name("signal_id"),
  createdAt: instant("created_at"),
} satisfies Record<keyof Signal, Column>;

const OPERATION = {
  id: name("id"),
  executionId: name("saga_execution_id"),
  action: name("action"),
  actor: prose("actor"),
  reason: prose("reason"),
  detail: json("detail"),
  at: instant("at"),
} satisfies Record<keyof Operation, Column>;

const WORKER = {
  id: name("id"),
  partitions: json("partitions"),
  definitions: json("definitions"),
  seenAt: instant("seen_at"),
  until: instant("until"),
} satisfies Record<keyof WorkerRow, Column>;

function mapping<T>(dialect: Dialect, fields: Readonly<Record<string, Column>>): Mapping<T> {
  const properties = Object.keys(fields);
  const columns = Object.values(fields);
  const names = columns.map(({ column }) => column);
  const encoders = columns.map((column) => encoderOf(dialect, column));
  const decoders = columns.map((column) => decoderOf(dialect, column));
  const types = columns.map(({ kind }) => kind === "prose" ? "text" : kind);
  return {
    columns: names,
    types,
    selected: names.map((column, at) => dialect.selected(column, types[at]!)).join(", "),
    encode(record) {
      const values = new Array<SqlValue>(properties.length);
      for (let at = 0; at < properties.length; at++) {
        const value = (record as Record<string, unknown>)[properties[at]!];
        values[at] = value === null ? null : encoders[at]!(value);
      }
      return values;
    },
    decode(row) {
      const record: Record<string, unknown> = {};
      for (let at = 0; at < properties.length; at++) {
        const stored = row[names[at]!];
        record[properties[at]!] = stored === null ? null : decoders[at]!(stored);
      }
      return record as T;
    },
  };
}

function encoderOf(dialect: Dialect, { column, kind, maxLength }: Column): (value: unknown) => SqlValue {
  switch (kind) {
    case "name":
      return (value) => encodeName(value, column);
    case "prose":
      return (value) => cleanText(String(value), maxLength);
    case "integer":
      return (value) => Number.isSafeInteger(value) ? value as number : refuse(column, value, "is no whole number");
    case "real":
      return (value) => Number.isFinite(value) ? value as number : refuse(column, value, "is no number");
    case "instant":
      return (value) => encodeInstant(dialect, value as Instant, column);
    case "json":
      return (value) => dialect.encodeJson(encodeJson(value, column));
    default:
      return kind satisfies never;
  }
}

function decoderOf(dialect: Dialect, { column, kind }: Column): (stored: unknown) => unknown {
  switch (kind) {
    case "name":
    case "prose":
      return (stored) => stored;
    case "integer":
    case "real":
      return Number;
    case "instant":
      return (stored) => dialect.decodeInstant(stored);
    case "json":
      return (stored) => decodeJson(dialect, stored, column);
    default:
      return kind satisfies never;
  }
}

/** Refused, not cleaned: an id that is stored as another one would never be found again. */
function encodeName(value: unknown, column: string): string {
  if (typeof value !== "string") return refuse(column, value, "is no text");
  if (value.includes("\0")) return refuse(column, value, "contains a NUL");
  if (!value.isWellFormed()) return refuse(column, value, "contains half of a surrogate pair");
  return value;
}

/** An instant as a parameter; throws `not_storable` if the database has no such time. */
export function encodeInstant(dialect: Dialect, value: Instant, column: string): SqlValue {
  return dialect.encodeInstant(value) ?? refuse(column, value, "is no time that can be stored");
}

function encodeJson(value: unknown, column: string): string {
  try {
    return JSON.stringify(value) ?? refuse(column, value, "is no JSON");
  } catch (error) {
    return refuse(column, value, `is no JSON (${error instanceof Error ? error.message : String(error)})`, error);
  }
}

function decodeJson(dialect: Dialect, stored: unknown, column: string): unknown {
  try {
    return dialect.decodeJson(stored);
  } catch (cause) {
    throw new SagaError("internal", `Cannot read column "${column}": ${show(stored)} is no JSON`, { cause });
  }
}

function refuse(column: string, value: unknown, what: string, cause?: unknown): never {
  throw new SagaError("not_storable", `Cannot store column "${column}": ${show(value)} ${what}`, {
    details: { path: column },
    cause,
  });
}
