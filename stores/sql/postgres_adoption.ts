/** Taking over tables on PostgreSQL. */

import type { Adoption, FoundColumn, Reading } from "./adoption.ts";
import type { DeclaredTypes } from "./dialect.ts";
import { change, rows } from "./work.ts";

const ENUMERATION = "e";

const TEXT = /^(text|character varying|character|bpchar|name|citext|uuid|smallint|integer|bigint)\b/;
const INTEGER = /^(smallint|integer|bigint)$/;
const NUMBER = /^(smallint|integer|bigint|real|double precision|numeric)\b/;

const EXACT: Readonly<Record<keyof DeclaredTypes, string>> = {
  sequence: "bigint",
  id: "text",
  key: "text",
  word: "text",
  text: "text",
  integer: "integer",
  real: "double precision",
  instant: "timestamp with time zone",
  json: "json",
};

/** Taking over tables on PostgreSQL: of the schemas that `inSchema` compares with, named with `prefix` before them. */
export function postgresAdoption(inSchema: string, prefix: string): Adoption {
  const tables = `(
  select c.oid, c.relname, c.relowner, c.relacl from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and n.nspname = ${inSchema}
)`;
  return {
    columns: `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, t.typtype as kind,
  coalesce(l.collname, '') as collation, case when a.attnotnull then 1 else 0 end as required,
  pg_get_expr(d.adbin, d.adrelid) as fallback,
  case when a.attidentity <> '' or a.attgenerated <> '' then 1 else 0 end as computed
from ${tables} c
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_catalog.pg_type t on t.oid = a.atttypid
left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
left join pg_catalog.pg_collation l on l.oid = a.attcollation
where c.relname = ? order by a.attnum`,
    obstacles: (table) =>
      `with own as (select * from ${tables} c where c.relname in ('saga_executions', 'saga_step_attempts')),
found as (select * from own where relname = '${table}')
select 'table ' || k.conrelid::regclass as what from pg_catalog.pg_constraint k
join found on found.oid = k.confrelid
where k.contype = 'f' and k.conrelid not in (select oid from own)
union
select 'view ' || v.oid::regclass from pg_catalog.pg_depend d
join pg_catalog.pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
join pg_catalog.pg_class v on v.oid = r.ev_class
join found on found.oid = d.refobjid
where v.oid <> found.oid
union
select 'trigger ' || g.tgname from pg_catalog.pg_trigger g join found on found.oid = g.tgrelid where not g.tgisinternal
union
select 'policy ' || p.polname from pg_catalog.pg_policy p join found on found.oid = p.polrelid`,
    isAtomic: true,

    isExact({ type, collation, isGenerated }, wanted) {
      if (wanted === "sequence") return type === EXACT.sequence && isGenerated;
      if (type !== EXACT[wanted]) return false;
      return wanted === "id" || wanted === "key" || wanted === "word" ? collation === "C" : true;
    },
    reading,
    showTable: null,
    declare: ({ name, type, isRequired, fallback }) =>
      `${quoted(name)} ${type}${isRequired ? " not null" : ""}${fallback === null ? "" : ` default ${fallback}`}`,
    *rename(dialect, names) {
      for (const [from, to] of names) {
        // Or the names of its indexes would be in the way of the new table's.
        const found = yield* rows(dialect.text(dialect.indexesOf), [from]);
        for (const [at, { name }] of found.entries()) {
          yield* change(`alter index ${prefix}${quoted(String(name))} rename to ${to}_${at}`, []);
        }
        yield* change(`alter table ${prefix}${from} rename to ${to}`, []);
      }
    },
    rights: rightsOf(tables),

    shown: (value) => `(${value})::text`,
    instant: (micros) => `(timestamptz 'epoch' + interval '1 microsecond' * ${micros})`,
    milliseconds: (from, to) => `(extract(epoch from (${to}) - (${from})) * 1000)::float8`,
    epochMilliseconds: (instant) => `(extract(epoch from ${instant}) * 1000)`,
    later: (one, other) => `greatest(${one}, ${other})`,
    object: (members) =>
      `json_build_object(${Object.entries(members).map(([name, value]) => `'${name}', ${value}`).join(", ")})`,
    isObject: (value) => `json_typeof(${value}) = 'object'`,
  };
}

/** What gives a table the rights and the owner of another one, as statements. */
function rightsOf(tables: string): string {
  return `with before as (select * from ${tables} c where c.relname = ?),
after as (select * from ${tables} c where c.relname = ?)
select 'grant ' || g.privilege_type || ' on ' || after.oid::regclass || ' to ' ||
  case when g.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end ||
  case when g.is_grantable then ' with grant option' else '' end as statement
from before cross join aclexplode(before.relacl) g cross join after
union
select 'alter table ' || after.oid::regclass || ' owner to ' || quote_ident(pg_get_userbyid(before.relowner))
from before cross join after where before.relowner <> after.relowner
order by statement desc`;
}

function reading({ name, type, kind }: FoundColumn, wanted: keyof DeclaredTypes): Reading | null {
  const found = `f.${quoted(name)}`;
  switch (wanted) {
    case "id":
    case "key":
    case "word":
    case "text":
      return TEXT.test(type) || kind === ENUMERATION ? { value: `${found}::text`, unfit: null } : null;
    case "sequence":
      return INTEGER.test(type) ? { value: found, unfit: null } : null;
    case "integer":
      if (!INTEGER.test(type)) return null;
      return { value: `${found}::int`, unfit: `${found} not between -2147483648 and 2147483647` };
    case "real":
      return NUMBER.test(type) ? { value: `${found}::float8`, unfit: null } : null;
    case "instant":
      if (/^timestamp.* with time zone$/.test(type)) return { value: found, unfit: `not isfinite(${found})` };
      if (!type.startsWith("timestamp")) return null;
      return { value: `(${found} at time zone 'UTC')`, unfit: `not isfinite(${found})` };
    case "json":
      return type === "json" || type === "jsonb" ? { value: `${found}::json`, unfit: null } : null;
    default:
      return wanted satisfies never;
  }
}

/** A name between double quotes. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
