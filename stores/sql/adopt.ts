/**
 * Takes over tables of the store's names that are there already: lepus-saga's, made by its migration or by hand, and
 * ours of another version.
 *
 * A table that is just as ours would be stays as it is. Otherwise a new one is made in its place, as ours would be and
 * with the columns beside that are not ours, and the rows are copied; what stands in the way is refused before anything
 * is changed.
 *
 * Where it is not one transaction, the found tables are set aside by one statement (`…_leveret_before`), and dropped once the
 * copies are complete (`…_leveret_copied`): cut off anywhere, it is done again, and until then nobody can use the new ones.
 */

import type { Instant } from "../../src/domain/record.ts";
import { SagaError, show } from "../../src/errors.ts";
import {
  completeExecutions,
  copyAttempts,
  copyExecutions,
  FOREIGN_COLUMNS,
  type Found,
  laterOf,
  STATUSES,
  strangersOf,
  type Target,
} from "./adopted_rows.ts";
import { BEFORE, type FoundColumn, type FoundTable } from "./adoption.ts";
import type { DeclaredTypes, Dialect } from "./dialect.ts";
import {
  type Column,
  createIndex,
  createTable,
  declarationOf,
  type Index,
  isTable,
  run,
  type SchemaChange,
  type Table,
} from "./tables.ts";
import { change, type Row, rows, type Steps } from "./work.ts";

const EXECUTIONS = "saga_executions";
const ATTEMPTS = "saga_step_attempts";
/** What the names of tables end with whose rows are copied, and which have still to be dropped. */
const COPIED = "_leveret_copied";

/** Columns without which a table is another system's. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  [EXECUTIONS]: ["id", "saga_name", "status", "direction", "current_step", "context", "started_at"],
  [ATTEMPTS]: ["id", "saga_execution_id", "step_name", "direction", "attempt", "status", "started_at"],
};

/** The column by which a table is known for ours. */
const OURS: Readonly<Record<string, string>> = { [EXECUTIONS]: "revision", [ATTEMPTS]: "undo" };

/**
 * Makes those tables ours that are there, of the tables that changes to be made would make. Throws `schema_unfit`, having
 * changed nothing.
 */
export function* adopt(dialect: Dialect, changes: readonly SchemaChange[], now: Instant): Steps<void> {
  const { adoption } = dialect;
  const tables = targetsOf(changes);
  const mayBeCutOff = !adoption.isAtomic && tables.some(({ name }) => name === EXECUTIONS);
  if (mayBeCutOff) yield* dropCopied(dialect);
  const isCutOff = mayBeCutOff && (yield* isTable(dialect, EXECUTIONS + BEFORE));
  if (!isCutOff && !(yield* isAdoptionNeeded(dialect, tables))) return;

  const pair = [EXECUTIONS, ATTEMPTS].map((name) => tables.find((table) => table.name === name)!);
  const [executions, attempts] = pair as [Target, Target];
  if (!isCutOff) {
    if (!(yield* isTable(dialect, EXECUTIONS))) throw unfit(ATTEMPTS, `there is no ${EXECUTIONS} that it belongs to`);
    for (const table of [executions, attempts]) yield* refuseUnfit(dialect, table);
    if (!(yield* isTable(dialect, ATTEMPTS))) yield* run(dialect, createTable(attempts, dialect));
    yield* adoption.rename(dialect, [[EXECUTIONS, EXECUTIONS + BEFORE], [ATTEMPTS, ATTEMPTS + BEFORE]]);
  }
  try {
    yield* replace(dialect, [executions, attempts], changes, now);
  } catch (error) {
    if (!adoption.isAtomic) yield* putBack(dialect);
    throw error;
  }
  yield* dropBefore(dialect);
}

/** The tables that changes would make, with what they would add to them afterwards. */
function targetsOf(changes: readonly SchemaChange[]): readonly Target[] {
  const later = (name: string) =>
    changes.flatMap((each) => each.kind === "column" && each.table === name ? [each.column] : []);
  return changes.flatMap((each) => each.kind === "table" ? [{ ...each.table, later: later(each.table.name) }] : []);
}

/** Whether one of the tables is there and not as ours would be; refuses those that cannot be taken over at all. */
function* isAdoptionNeeded(dialect: Dialect, tables: readonly Target[]): Steps<boolean> {
  const { lockTable } = dialect;
  let isNeeded = false;
  for (const table of tables) {
    if (lockTable !== null && (yield* isTable(dialect, table.name))) yield* run(dialect, lockTable(table.name));
    const found = yield* find(dialect, table.name);
    if (found === null || isExact(dialect, found, table)) continue;
    const missing = (NEEDED[table.name] ?? table.columns.map(({ name }) => name)).find((name) =>
      !found.columns.has(name)
    );
    if (missing !== undefined) throw another(table.name, `has no column ${show(missing)}`);
    if (NEEDED[table.name] === undefined) throw another(table.name, "has columns of other types");
    isNeeded = true;
  }
  return isNeeded;
}

/** A table that is there, or null. */
function* find(dialect: Dialect, name: string, suffix = ""): Steps<FoundTable | null> {
  const found = yield* rows(dialect.text(dialect.adoption.columns), [name + suffix]);
  if (found.length === 0) return null;
  const columns = new Map(found.map((row) => [String(row.name), columnOf(row)]));
  return { name, columns, isOurs: columns.has(OURS[name] ?? "id") };
}

function columnOf(row: Row): FoundColumn {
  return {
    name: String(row.name),
    type: String(row.type),
    kind: String(row.kind),
    collation: String(row.collation),
    isRequired: Number(row.required) === 1,
    fallback: row.fallback === null ? null : String(row.fallback),
    isGenerated: Number(row.computed) === 1,
  };
}

/** Whether the columns are just ours, but perhaps for some that may be left empty. */
function isExact({ adoption }: Dialect, found: FoundTable, table: Target): boolean {
  const isOur = (column: Column) => {
    const there = found.columns.get(column.name);
    if (there === undefined || !adoption.isExact(there, column.type)) return false;
    return column.type === "sequence" || there.isRequired === column.isRequired;
  };
  return [...table.columns, ...laterOf(found, table)].every(isOur) && strangersOf(found, table).every(mayBeLeftOut);
}

function mayBeLeftOut({ isRequired, fallback, isGenerated }: FoundColumn): boolean {
  return !isRequired || fallback !== null || isGenerated;
}

/** Refuses a table that is there if it has anything that would be lost, or that could not be kept as ours. */
function* refuseUnfit(dialect: Dialect, table: Target): Steps<void> {
  const { adoption } = dialect;
  const found = yield* find(dialect, table.name);
  if (found === null) return;
  const [obstacle] = yield* rows(adoption.obstacles(table.name), []);
  if (obstacle !== undefined) {
    throw unfit(table.name, `the ${obstacle.what} depends on it; drop that, and make it anew after the migration`);
  }
  for (const column of strangersOf(found, table)) refuseStranger(table.name, column);
  for (const { name, type } of [...table.columns, ...table.later, ...FOREIGN_COLUMNS]) {
    const column = found.columns.get(name);
    if (column === undefined) continue;
    const reading = column.isGenerated && type !== "sequence" ? null : adoption.reading(column, type, found);
    if (reading === null) {
      throw unfit(table.name, `its column ${show(name)} is ${column.type}, and ${WANTED[type]} is needed; convert it`);
    }
    if (reading.unfit !== null) {
      yield* refuseRows(dialect, found, column, reading.unfit, `and ${WANTED[type]} is needed`);
    }
  }
  yield* refuseValues(dialect, found);
}

const WANTED: Readonly<Record<keyof DeclaredTypes, string>> = {
  sequence: "a whole number",
  id: "text of at most 255 characters",
  key: "text of at most 512 characters",
  word: "a word",
  text: "text",
  integer: "a whole number",
  real: "a number",
  instant: "a date with its time",
  json: "JSON",
};

function refuseStranger(table: string, column: FoundColumn): void {
  if (!mayBeLeftOut(column)) {
    throw unfit(table, `its column ${show(column.name)} must not be null, and nobody fills it; give it a default`);
  }
  if (column.isGenerated || /\bnextval\(/.test(column.fallback ?? "")) {
    throw unfit(
      table,
      `its column ${show(column.name)} is filled by the database; drop it, or make it an ordinary one`,
    );
  }
}

/** Refuses rows that lack something, or that say something that we know nothing of. */
function* refuseValues(dialect: Dialect, found: FoundTable): Steps<void> {
  const { name, columns, isOurs } = found;
  const value = (column: string, type: keyof DeclaredTypes) =>
    dialect.adoption.reading(columns.get(column)!, type, found)!.value;
  const refuse = (column: string, condition: string, why: string) =>
    refuseRows(dialect, found, columns.get(column)!, condition, why);

  for (const column of NEEDED[name]!) {
    yield* refuse(column, `f."${column}" is null`, "which every row needs");
  }
  const statuses = name === EXECUTIONS
    ? isOurs ? STATUSES.ourExecutions : STATUSES.executions
    : isOurs
    ? STATUSES.ourAttempts
    : STATUSES.attempts;
  yield* refuse(
    "status",
    `${value("status", "word")} not in (${list(statuses)})`,
    `and ${statuses.join(", ")} are known`,
  );
  const directions = ["execute", "compensate"];
  yield* refuse(
    "direction",
    `${value("direction", "word")} not in (${list(directions)})`,
    "and execute and compensate are known",
  );
  for (const column of ["context", "context_after"]) {
    if (!columns.has(column)) continue;
    const json = value(column, "json");
    yield* refuse(column, `f."${column}" is not null and not (${dialect.adoption.isObject(json)})`, "and is no object");
  }
  if (name === ATTEMPTS) yield* refuseTwins(dialect, found, value);
}

function list(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(", ");
}

function* refuseRows(
  dialect: Dialect,
  { name: table }: FoundTable,
  { name }: FoundColumn,
  condition: string,
  why: string,
): Steps<void> {
  const shown = dialect.adoption.shown(`f."${name}"`);
  const sql = `select count(*) as many, min(${shown}) as example from ${table} f where ${condition}`;
  const [row] = yield* rows(dialect.text(sql), []);
  const many = Number(row!.many);
  if (many === 0) return;
  const what = row!.example === null ? "null" : show(String(row!.example));
  throw unfit(
    table,
    `its column ${show(name)} has ${what} in ${many === 1 ? "1 row" : `${many} rows`}, ${why}; mend that`,
  );
}

/** What lepus-saga's unique index forbids, where there is none. */
function* refuseTwins(
  dialect: Dialect,
  { name, columns }: FoundTable,
  value: (column: string, type: keyof DeclaredTypes) => string,
): Steps<void> {
  const scope = [
    value("saga_execution_id", "id"),
    value("step_name", "id"),
    value("direction", "word"),
    columns.has("epoch") ? value("epoch", "integer") : "0",
    value("attempt", "integer"),
  ].map((expression, at) => `${expression} as part_${at}`);
  const sql = `select count(*) as many, min(part_0) as example from (
  select part_0 from (select ${scope.join(", ")} from ${name} f) parts
  group by part_0, part_1, part_2, part_3, part_4 having count(*) > 1
) twins`;
  const [row] = yield* rows(dialect.text(sql), []);
  if (Number(row!.many) === 0) return;
  throw unfit(
    name,
    `it has an attempt twice, of ${show(String(row!.example))} among others: the same saga_execution_id, step_name, ` +
      "direction, epoch and attempt; delete one of them",
  );
}

/** Makes the new tables with their indexes, and fills them. */
function* replace(
  dialect: Dialect,
  tables: readonly [Target, Target],
  changes: readonly SchemaChange[],
  now: Instant,
): Steps<void> {
  const { adoption } = dialect;
  const [executions, attempts] = [
    (yield* find(dialect, EXECUTIONS, BEFORE))!,
    (yield* find(dialect, ATTEMPTS, BEFORE))!,
  ];
  const found: Found = { executions, attempts };
  for (const [table, there] of [[tables[0], executions], [tables[1], attempts]] as const) {
    // From a time before, when it was cut off.
    if (!adoption.isAtomic) yield* run(dialect, `drop table if exists ${table.name}`);
    yield* run(dialect, createTable(table, dialect));
    const text = yield* textOf(dialect, table.name + BEFORE);
    const declarations = [
      ...laterOf(there, table).map((column) => dialect.text(declarationOf(column, dialect))),
      ...strangersOf(there, table).map((column) => adoption.declare(column, text)),
    ];
    for (const declared of declarations) {
      yield* change(`${dialect.text(`alter table ${table.name} add column`)} ${declared}`, []);
    }
  }
  yield* run(dialect, copyExecutions(dialect, found, tables[0], now));
  yield* run(dialect, copyAttempts(dialect, found, tables[1], now));
  for (const index of tables.flatMap((table) => indexesOf(table, changes))) {
    yield* run(dialect, createIndex(index, dialect));
  }
  if (!executions.isOurs) yield* run(dialect, completeExecutions(dialect, found));
  if (adoption.rights === null) return;
  for (const { name } of tables) {
    for (const { statement } of yield* rows(dialect.text(adoption.rights), [name + BEFORE, name])) {
      yield* change(String(statement), []);
    }
  }
}

/** Indexes of a table that need no more than its own columns: later changes may add others. */
function indexesOf({ name, columns, computed }: Table, changes: readonly SchemaChange[]): readonly Index[] {
  const own = new Set([...columns, ...computed].map((column) => column.name));
  return changes.flatMap((each) => each.kind === "index" && each.index.table === name ? [each.index] : [])
    .filter((index) => index.columns.every((column) => own.has(column)));
}

/** How a table was made, in the database's own words, if that is needed. */
function* textOf(dialect: Dialect, table: string): Steps<string> {
  const { showTable } = dialect.adoption;
  if (showTable === null) return "";
  const [row] = yield* rows(dialect.text(showTable(table)), []);
  return String(row!["Create Table"]);
}

/** Whatever went wrong with the copies: the tables are found again where they were. */
function* putBack(dialect: Dialect): Steps<void> {
  try {
    for (const name of [ATTEMPTS, EXECUTIONS]) yield* run(dialect, `drop table if exists ${name}`);
    yield* dialect.adoption.rename(dialect, [[EXECUTIONS + BEFORE, EXECUTIONS], [ATTEMPTS + BEFORE, ATTEMPTS]]);
  } catch {
    // The connection is lost, most likely: the next one that migrates goes on from here.
  }
}

function* dropBefore(dialect: Dialect): Steps<void> {
  if (!dialect.adoption.isAtomic) {
    // In one statement: what is dropped one by one must not look as if it had still to be copied.
    yield* dialect.adoption.rename(dialect, [
      [EXECUTIONS + BEFORE, EXECUTIONS + COPIED],
      [ATTEMPTS + BEFORE, ATTEMPTS + COPIED],
    ]);
    return yield* dropCopied(dialect);
  }
  // What refers to the other one goes first.
  for (const name of [ATTEMPTS, EXECUTIONS]) yield* run(dialect, `drop table ${name}${BEFORE}`);
}

function* dropCopied(dialect: Dialect): Steps<void> {
  for (const name of [ATTEMPTS, EXECUTIONS]) {
    if (yield* isTable(dialect, name + COPIED)) yield* run(dialect, `drop table ${name}${COPIED}`);
  }
}

function another(table: string, what: string): SagaError {
  return new SagaError(
    "schema_unfit",
    `Cannot make the tables: there is a table ${
      show(table)
    } of another system, which ${what}; rename it, or give the ` +
      "store a database or schema of its own",
  );
}

function unfit(table: string, what: string): SagaError {
  return new SagaError("schema_unfit", `Cannot adopt the table ${show(table)}: ${what}`);
}
