/** SQLite's dialect. */

import type { Dialect } from "./dialect.ts";
import { refusalOf } from "./sqlite_errors.ts";

/** Integers beyond this make a row unreadable for the driver; as microseconds it is the year 2255. */
const MAX_MICROSECONDS = Number.MAX_SAFE_INTEGER;

/** SQLite's dialect: texts compare byte by byte, JSON is text, instants are whole microseconds since 1970. */
export const sqliteDialect: Dialect = {
  types: {
    sequence: "integer primary key",
    id: "text",
    key: "text",
    word: "text",
    text: "text",
    integer: "integer",
    real: "real",
    instant: "integer",
    json: "text",
  },
  tableOptions: " strict",
  tableExists: "select 1 from sqlite_master where type = 'table' and name = ?",
  columnsOf: "select name from pragma_table_info(?)",
  indexesOf: "select name from pragma_index_list(?)",
  indexPrefix: () => "",
  dropIndex: (name) => `drop index ${name}`,
  wake: { column: "", indexed: "wake_at" },
  afterTables: [],
  onlyWhere: (condition) => ` where ${condition}`,

  text: (sql) => sql,
  parameter: () => "?",
  selected: (column) => `"${column}"`,
  concat: (...parts) => parts.join(" || "),
  isIn: (expression) => `${expression} in (select value from json_each(?))`,
  each: "json_each(?)",
  list: (values) => JSON.stringify(values),

  unlessTaken: " on conflict do nothing",
  // `begin immediate` has locked the whole file by then.
  forUpdate: "",
  forUpdateSkipLocked: "",

  encodeInstant(instant) {
    // In two parts: far from 1970 the product as a whole would round to a neighbouring microsecond.
    const whole = Math.floor(instant);
    const microseconds = whole * 1_000 + Math.round((instant - whole) * 1_000);
    return Math.abs(microseconds) <= MAX_MICROSECONDS ? microseconds : null;
  },
  decodeInstant: (stored) => Number(stored) / 1_000,
  encodeJson: (text) => text,
  decodeJson: (stored) => JSON.parse(String(stored)),

  refusal: refusalOf,
};
