/** Taking over tables on MySQL and MariaDB. */

import type { Adoption, FoundColumn, FoundTable, Reading } from "./adoption.ts";
import type { DeclaredTypes } from "./dialect.ts";
import { change } from "./work.ts";

const TEXT = /^(varchar|char|tinytext|text|mediumtext|longtext|enum|uuid)\b/;
const INTEGER = /^(tinyint|smallint|mediumint|int|bigint)\b/;
const NUMBER = /^(float|double|decimal)\b/;

const EXACT: Readonly<Record<keyof DeclaredTypes, string>> = {
  sequence: "bigint",
  id: "varchar(255)",
  key: "varchar(512)",
  word: "varchar(32)",
  text: "longtext",
  integer: "bigint",
  real: "double",
  instant: "bigint",
  json: "longtext",
};

/** Taking over tables on one of the two servers, whose tables of ours compare by `collation`. */
export function mysqlAdoption(collation: string): Adoption {
  return {
    columns:
      `select column_name as name, lower(column_type) as type, '' as kind, coalesce(collation_name, '') as collation,
  case is_nullable when 'NO' then 1 else 0 end as required, column_default as fallback,
  case when coalesce(generation_expression, '') <> '' or extra like '%auto_increment%' then 1 else 0 end as computed
from information_schema.columns where table_schema = database() and table_name = ? order by ordinal_position`,
    obstacles: (table) =>
      `select distinct concat('table ', table_schema, '.', table_name) as what from information_schema.key_column_usage
where referenced_table_schema = database() and referenced_table_name = '${table}'
  and not (table_schema = database() and table_name in ('saga_executions', 'saga_step_attempts'))
union
select concat('trigger ', trigger_name) from information_schema.triggers
where event_object_schema = database() and event_object_table = '${table}'`,
    isAtomic: false,

    isExact({ type, collation: found, isGenerated }, wanted) {
      if (type.replace(/^(\w*int)\(\d+\)$/, "$1") !== EXACT[wanted]) return false;
      if (wanted === "sequence") return isGenerated;
      return found === "" || found === collation;
    },
    reading: (column, type, table) => readingOf(column, type, table, collation),
    showTable: (table) => `show create table ${table}`,
    declare({ name }, tableText) {
      const lines = tableText.split("\n").map((line) => line.trim().replace(/,$/, ""));
      return lines.find((line) => line.startsWith(`\`${name.replaceAll("`", "``")}\` `))!;
    },
    *rename(_dialect, names) {
      yield* change(`rename table ${names.map(([from, to]) => `${from} to ${to}`).join(", ")}`, []);
    },
    rights: null,

    instant: String,
    shown: (value) => `cast(${value} as char)`,
    milliseconds: (from, to) => `((${to}) - (${from})) / 1000`,
    epochMilliseconds: (instant) => `(${instant}) / 1000`,
    later: (one, other) => `greatest(${one}, ${other})`,
    object: (members) =>
      `json_object(${Object.entries(members).map(([name, value]) => `'${name}', ${value}`).join(", ")})`,
    isObject: (value) => `json_type(${value}) = 'OBJECT'`,
  };
}

/** How many characters a name may have. */
const LENGTHS: Readonly<Partial<Record<keyof DeclaredTypes, number>>> = { id: 255, key: 512, word: 32 };

function readingOf(
  { name, type }: FoundColumn,
  wanted: keyof DeclaredTypes,
  { isOurs }: FoundTable,
  collation: string,
): Reading | null {
  const found = `f."${name}"`;
  // By ours, whatever theirs is: two that differ are not compared at all, or by none of the indexes.
  const text = `convert(${found} using utf8mb4) collate ${collation}`;
  switch (wanted) {
    case "id":
    case "key":
    case "word":
    case "text": {
      if (!TEXT.test(type) && !INTEGER.test(type)) return null;
      const length = LENGTHS[wanted];
      return { value: text, unfit: length === undefined ? null : `char_length(${found}) > ${length}` };
    }
    case "integer":
    case "sequence":
      return INTEGER.test(type) ? { value: found, unfit: null } : null;
    case "real":
      return INTEGER.test(type) || NUMBER.test(type) ? { value: found, unfit: null } : null;
    case "instant":
      return instantFrom(found, type, isOurs);
    case "json":
      if (type !== "json" && !/^(medium|long)?text$/.test(type)) return null;
      return { value: text, unfit: `json_valid(${found}) = 0` };
    default:
      return wanted satisfies never;
  }
}

function instantFrom(found: string, type: string, isOurs: boolean): Reading | null {
  if (isOurs) return INTEGER.test(type) ? { value: found, unfit: null } : null;
  const value = type.startsWith("datetime")
    ? `timestampdiff(microsecond, '1970-01-01 00:00:00', ${found})`
    : type.startsWith("timestamp")
    // Whatever the session's time zone is.
    ? `cast(unix_timestamp(${found}) * 1000000 as signed)`
    : null;
  return value === null ? null : { value, unfit: `${found} is not null and ${value} is null` };
}
