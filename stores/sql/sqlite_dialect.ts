/** SQLite's dialect. */

import type { Dialect } from "./dialect.ts";
import { sqliteAdoption } from "./sqlite_adoption.ts";
import { fromMicroseconds, toMicroseconds } from "./microseconds.ts";
import { refusalOf } from "./sqlite_errors.ts";

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
  named: (table) => table,
  lockTable: null,
  adoption: sqliteAdoption,
  indexPrefix: () => "",
  dropIndex: (name) => `drop index ${name}`,
  wake: { computed: [], indexed: "wake_at" },
  afterTables: [],
  onlyWhere: (condition) => ` where ${condition}`,

  text: (sql) => sql,
  parameter: () => "?",
  selected: (column) => `"${column}"`,
  concat: (...parts) => parts.join(" || "),
  isIn: (expression) => `${expression} in (select value from json_each(?))`,
  each: "json_each(?)",
  jsonArray: (...parts) => `json_array(${parts.join(", ")})`,
  textOfJson: (column) => column,
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  microseconds: (column) => column,
  instantOf: (microseconds) => microseconds,
  materialized: " materialized",
  list: (values) => JSON.stringify(values),

  unlessTaken: " on conflict do nothing",
  // `begin immediate` has locked the whole file by then.
  forUpdate: "",
  forUpdateSkipLocked: "",

  encodeInstant: toMicroseconds,
  decodeInstant: fromMicroseconds,
  encodeJson: (text) => text,
  decodeJson: (stored) => JSON.parse(String(stored)),

  refusal: refusalOf,
};
