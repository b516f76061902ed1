/** The dialect of MySQL and MariaDB. */

import type { Dialect } from "./dialect.ts";
import { mysqlAdoption } from "./mysql_adoption.ts";
import { fromMicroseconds, toMicroseconds } from "./microseconds.ts";
import { refusalOf } from "./mysql_errors.ts";
import { LIST } from "./mysql_text.ts";

/** Which of the two servers it is. */
export type Flavour = "mysql" | "mariadb";

/**
 * What compares byte by byte, blanks at the end included: `utf8mb4_bin` takes "a" and "a " for the same. The two servers
 * have the same thing under different names, and neither knows the other's.
 */
const COLLATIONS: Readonly<Record<Flavour, string>> = {
  mysql: "utf8mb4_0900_bin",
  mariadb: "utf8mb4_nopad_bin",
};

/**
 * The dialect of both servers: names compare byte by byte, instants are whole microseconds since 1970, JSON is text.
 *
 * - Instants are numbers since a `datetime` is shifted by the time zones of session and driver, and cut to milliseconds
 *   by the driver's dates; a pool that was handed in may have any of these settings.
 * - Every name has a length, since an index is limited to 3,072 bytes, at four for each character.
 * - JSON is text since MySQL's own type sorts the keys and rounds numbers, and since MariaDB's, and its `json_valid`,
 *   refuse more than 32 levels.
 */
export const mysqlDialect: Dialect = {
  types: {
    sequence: "bigint not null auto_increment primary key",
    id: "varchar(255)",
    key: "varchar(512)",
    word: "varchar(32)",
    text: "longtext",
    integer: "bigint",
    real: "double",
    instant: "bigint",
    json: "longtext",
  },
  // What creates tables has to know the server: see mysqlDialectOf().
  tableOptions: "",
  tableExists: "select 1 from information_schema.tables where table_schema = database() and table_name = ?",
  columnsOf: "select column_name as name from information_schema.columns" +
    " where table_schema = database() and table_name = ? order by ordinal_position",
  indexesOf: "select distinct index_name as name from information_schema.statistics" +
    " where table_schema = database() and table_name = ?",
  named: (table) => table,
  lockTable: null,
  adoption: mysqlAdoption(COLLATIONS.mysql),
  indexPrefix: (length) => length === null ? "" : `(${length})`,
  dropIndex: (name, table) => `drop index ${name} on ${table}`,
  // Neither server has indexes of some rows; null is the first value of an index, so a range passes over it.
  onlyWhere: () => "",
  wake: { computed: [], indexed: "wake_at" },
  afterTables: [],

  text: (sql) => sql.replaceAll('"', "`").replace(PARENT, `${PARENT} force index (primary)`),
  parameter: () => "?",
  selected: (column) => `"${column}"`,
  concat: (...parts) => `concat(${parts.join(", ")})`,
  // As a list in the text: MariaDB runs an update by a subquery as a scan of the whole table.
  isIn: (expression) => `${expression} in ${LIST}`,
  // Compared with a column, it is the column's collation that counts: of two, the binary one wins.
  each: "json_table(?, '$[*]' columns (value varchar(255) character set utf8mb4 path '$'))",
  jsonArray: (...parts) => `json_array(${parts.join(", ")})`,
  textOfJson: (column) => column,
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  microseconds: (column) => column,
  instantOf: (microseconds) => microseconds,
  // Neither server has the word, and both do so with what is used twice.
  materialized: "",
  list: (values) => JSON.stringify(values),

  // A duplicate is an error that is caught: `insert ignore` would ignore values that do not fit as well.
  unlessTaken: "",
  forUpdate: " for update",
  forUpdateSkipLocked: " for update skip locked",

  encodeInstant: toMicroseconds,
  decodeInstant: fromMicroseconds,
  encodeJson: (text) => text,
  decodeJson: (stored) => JSON.parse(String(stored)),

  refusal: refusalOf,
};

/** Searched by its id: the server would rather go through all that has not finished, once for each execution. */
const PARENT = "saga_executions as parent";

/** The dialect with what creates tables on one of the two servers. */
export function mysqlDialectOf(flavour: Flavour): Dialect {
  const tableOptions = ` engine = InnoDB default character set utf8mb4 collate ${COLLATIONS[flavour]}`;
  return { ...mysqlDialect, tableOptions, adoption: mysqlAdoption(COLLATIONS[flavour]) };
}
