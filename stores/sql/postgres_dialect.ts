/** PostgreSQL's dialect. */

import type { ColumnTypes, Dialect } from "./dialect.ts";
import { postgresAdoption } from "./postgres_adoption.ts";
import { fromMicroseconds, toMicroseconds } from "./microseconds.ts";
import { refusalOf } from "./postgres_errors.ts";
import type { SqlValue } from "./work.ts";

/** As what a value of a column is handed over. */
const HANDED_OVER: Readonly<Record<keyof ColumnTypes, string>> = {
  sequence: "bigint",
  name: "text",
  text: "text",
  integer: "int",
  real: "float8",
  // Whole microseconds: both sides read and write a number ten times as fast as a date in words.
  instant: "bigint",
  json: "json",
};

const NAME = 'text collate "C"';

/**
 * Our tables, as they stand in the texts, and those that are taken over; the names of indexes and columns go on after
 * them. Not behind a schema that they are named with already.
 */
const TABLES =
  /(?<!\.)\b(?:saga_(?:executions|step_attempts|signals|operations|workers)(?:_leveret_before)?|leveret_schema)\b/g;

/**
 * PostgreSQL's dialect: names compare byte by byte, JSON is `json`, which keeps `\u0000`, instants are `timestamptz`.
 *
 * Every parameter goes as text that is cast in the statement, and every column comes back as text or a number: what a
 * driver makes of dates and JSON by itself, and the session's settings, do not matter then.
 *
 * Tables are named with their schema if one is given, so that no session has to know it.
 */
export function postgresDialect(schema: string | null): Dialect {
  const prefix = schema === null ? "" : `${quoted(schema)}.`;
  const inSchema = schema === null ? "any (current_schemas(false))" : literal(schema);
  return {
    types: {
      sequence: "bigint generated always as identity",
      id: NAME,
      key: NAME,
      word: NAME,
      text: "text",
      integer: "int",
      real: "float8",
      instant: "timestamptz",
      json: "json",
    },
    tableOptions: "",
    // Not to_regclass(): behind a lock that was waited for it still knows what was not there before.
    tableExists: `select 1 from pg_catalog.pg_tables where tablename = ? and schemaname = ${inSchema}`,
    columnsOf: "select column_name as name from information_schema.columns" +
      ` where table_name = ? and table_schema = ${inSchema} order by ordinal_position`,
    indexesOf: `select indexname as name from pg_catalog.pg_indexes where tablename = ? and schemaname = ${inSchema}`,
    named: (table) => prefix + table,
    lockTable: (table) => `lock table ${prefix}${table} in access exclusive mode`,
    adoption: postgresAdoption(inSchema, prefix),
    indexPrefix: () => "",
    dropIndex: (name) => `drop index ${prefix}${name}`,
    wake: WAKE,
    afterTables: [
      // Room for three more versions on the row's own page, or every step would have to touch every index.
      "alter table saga_executions set (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05)",
    ],
    onlyWhere: (condition) => ` where ${condition}`,

    text(sql) {
      let count = 0;
      const numbered = sql.replace(/\?/g, () => `$${++count}`);
      return prefix === "" ? numbered : numbered.replace(TABLES, (table) => prefix + table);
    },
    parameter: parameterOf,
    selected(column, type) {
      switch (type) {
        case "instant":
          return `${microseconds(`"${column}"`)} as "${column}"`;
        case "json":
          return `"${column}"::text as "${column}"`;
        default:
          return `"${column}"`;
      }
    },
    concat: (...parts) => parts.join(" || "),
    isIn: (expression) => `${expression} = any (${TEXTS})`,
    each: `(select unnest(${TEXTS}) as value)`,
    jsonArray: (...parts) => `json_build_array(${parts.join(", ")})::text`,
    textOfJson: (column) => `${column}::text`,
    contains: (text, part) => `strpos(${text}, ${part}) > 0`,
    // Ten times as fast as extract(), which calculates with decimals; whole microseconds are exact in either.
    microseconds: (column) => `(date_part('epoch', ${column}) * 1000000)::bigint`,
    // Without a time zone until the end: the same for every session, so that it is calculated once and not for each row.
    instantOf: (microseconds) =>
      `((timestamp 'epoch' + interval '1 microsecond' * (${microseconds})) at time zone 'UTC')`,
    materialized: " materialized",
    list: (values) => arrayOf(values),

    unlessTaken: " on conflict do nothing",
    forUpdate: " for update",
    forUpdateSkipLocked: " for update skip locked",

    encodeInstant: toMicroseconds,
    decodeInstant: fromMicroseconds,
    encodeJson: (text) => text,
    decodeJson: (stored) => JSON.parse(String(stored)),

    refusal: refusalOf,
  };
}

/** A parameter that holds any number of texts, made by {@linkcode arrayOf}. */
export const TEXTS = "?::text::text[]";

/** A parameter for a column of a type, as a value of it. */
export function parameterOf(type: keyof ColumnTypes): string {
  return valueOf(type, type === "name" || type === "text" ? "?" : `cast(?::text as ${HANDED_OVER[type]})`);
}

/** A parameter that holds any number of values for a column of a type, as they are handed over. */
export function arrayParameterOf(type: keyof ColumnTypes): string {
  return `?::text::${HANDED_OVER[type]}[]`;
}

/** A value of a column, from an expression that has it as it was handed over. */
export function valueOf(type: keyof ColumnTypes, expression: string): string {
  if (type !== "instant") return expression;
  return `(timestamptz 'epoch' + interval '1 microsecond' * ${expression})`;
}

/** An instant as a whole number of microseconds, whatever time zone and style of dates the session has. */
export function microseconds(expression: string): string {
  return `(extract(epoch from ${expression}) * 1000000)::bigint`;
}

/**
 * The minute of the wake time stands in the index instead of the wake time. It stays the same through a run of steps,
 * most of the time, so that these are heap-only updates, which touch no index: measured, that is half of the log.
 */
const WAKE = {
  computed: [{
    name: "wake_minute",
    declaration: `timestamp generated always as (${minuteOf("wake_at")}) stored`,
  }],
  indexed: "wake_minute",
};

/** The minute of an instant; of timestamps without a zone, since what depends on the session cannot be stored. */
export function minuteOf(expression: string): string {
  return `date_trunc('minute', ${expression} at time zone 'UTC')`;
}

/** A name between double quotes. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function literal(text: string): string {
  // With E: whatever standard_conforming_strings is.
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** Values as the text of an array. */
export function arrayOf(values: readonly SqlValue[]): string {
  const [first] = values;
  if (first === undefined) return "{}";
  // In a batch most columns have the same value in every row. That is found out sooner than such a text is put together
  // value by value, and leaves less behind: this was half of all that a commit allocated.
  if (values.every((value) => value === first)) {
    const element = elementOf(first);
    return values.length === 1 ? `{${element}}` : `{${`${element},`.repeat(values.length - 1)}${element}}`;
  }
  return `{${values.map(elementOf).join(",")}}`;
}

function elementOf(value: SqlValue): string | number {
  if (value === null) return "NULL";
  if (typeof value === "number") return value;
  // What JSON escapes but for control characters is what an array does, and the runtime does it fast.
  return CONTROL.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : JSON.stringify(value);
}

// deno-lint-ignore no-control-regex -- it is about these
const CONTROL = /[\0-\x1f]/;
