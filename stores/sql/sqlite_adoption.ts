/** Taking over tables on SQLite, where a column may hold anything: what counts is each value. */

import type { DeclaredTypes } from "./dialect.ts";
import type { Adoption, FoundColumn, FoundTable, Reading } from "./adoption.ts";
import { run } from "./tables.ts";
import { change, rows } from "./work.ts";

const EXACT: Readonly<Record<keyof DeclaredTypes, string>> = {
  sequence: "integer",
  id: "text",
  key: "text",
  word: "text",
  text: "text",
  integer: "integer",
  real: "real",
  instant: "integer",
  json: "text",
};

/** Taking over tables on SQLite. */
export const sqliteAdoption: Adoption = {
  columns: `select name, lower(type) as type, '' as kind, '' as collation, "notnull" as required,
  dflt_value as fallback, hidden > 0 as computed
from pragma_table_xinfo(?)`,
  obstacles: (table) =>
    `select type || ' ' || name as what from sqlite_master where type in ('view', 'trigger') and instr(sql, '${table}') > 0
union all
select 'table ' || other.name from sqlite_master other, pragma_foreign_key_list(other.name) link
where other.type = 'table' and link."table" = '${table}' and other.name not in ('saga_executions', 'saga_step_attempts')`,
  isAtomic: true,

  isExact: ({ type }, wanted) => type === EXACT[wanted],
  reading,
  showTable: null,
  // In a table that is strict, `any` keeps whatever it is given.
  declare: ({ name, isRequired, fallback }) =>
    `"${name}" any${isRequired ? " not null" : ""}${fallback === null ? "" : ` default (${fallback})`}`,
  *rename(dialect, names) {
    for (const [from, to] of names) {
      // Or their names, which are the whole file's, would be in the way of the new table's. Those of keys stay.
      for (const { name } of yield* rows("select name from pragma_index_list(?) where origin = 'c'", [from])) {
        yield* change(`drop index "${name}"`, []);
      }
      yield* run(dialect, `alter table ${from} rename to ${to}`);
    }
  },
  rights: null,

  instant: String,
  shown: (value) => `cast(${value} as text)`,
  milliseconds: (from, to) => `((${to}) - (${from})) / 1000.0`,
  epochMilliseconds: (instant) => `(${instant}) / 1000.0`,
  later: (one, other) => `max(${one}, ${other})`,
  object: (members) =>
    `json_object(${Object.entries(members).map(([name, value]) => `'${name}', ${value}`).join(", ")})`,
  isObject: (value) => `json_type(${value}) = 'object'`,
};

function reading({ name }: FoundColumn, type: keyof DeclaredTypes, { isOurs }: FoundTable): Reading | null {
  const found = `f."${name}"`;
  const isNo = (...types: readonly string[]) =>
    `typeof(${found}) not in (${["null", ...types].map((each) => `'${each}'`).join(", ")})`;
  switch (type) {
    case "id":
    case "key":
    case "word":
    case "text":
      return { value: `cast(${found} as text)`, unfit: isNo("text", "integer") };
    case "integer":
    case "sequence":
      return { value: found, unfit: isNo("integer") };
    case "real":
      return { value: `cast(${found} as real)`, unfit: isNo("integer", "real") };
    case "instant":
      if (isOurs) return { value: found, unfit: isNo("integer") };
      return {
        value: microsecondsOf(found),
        unfit: `${isNo("text")} or (${found} is not null and ${secondsOf(found)} is null)`,
      };
    case "json":
      return { value: found, unfit: `${isNo("text")} or (${found} is not null and not json_valid(${found}))` };
    default:
      return type satisfies never;
  }
}

/** A time in words, in UTC unless it says otherwise; its seconds without their fraction, which would be rounded. */
function secondsOf(text: string): string {
  return `strftime('%s', substr(${text}, 1, 19) || ltrim(substr(${text}, 20), '.0123456789'))`;
}

/** As many digits as there are follow the seconds; a cast reads as far as there are any. */
function microsecondsOf(text: string): string {
  const fraction = `cast(round(cast('0' || substr(${text}, 20) as real) * 1000000) as integer)`;
  return `(cast(${secondsOf(text)} as integer) * 1000000 + ${fraction})`;
}
