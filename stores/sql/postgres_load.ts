/** Reading executions on PostgreSQL: one statement, and so one snapshot, for whole records. */

import type { Attempt, Execution, ExecutionRecord, Signal } from "../../src/domain/record.ts";
import { type Mapping, type Mappings, mappings } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { type Loader, loader, recordsOf } from "./load.ts";
import { microseconds, TEXTS } from "./postgres_dialect.ts";
import { type Row, rows, type Steps } from "./work.ts";

/** Rows of three tables in one answer: each is one array of JSON, of which `kind` says what it is. */
const EXECUTION = 0;
const ATTEMPT = 1;
const SIGNAL = 2;

/** The loader of PostgreSQL. Its work needs no transaction. */
export function postgresLoader(dialect: Dialect, maps: Mappings): Loader {
  const { execution, attempt, signal } = maps;
  // Parsed as a whole: what is within a column that holds JSON comes out with it.
  const parsed = mappings({ ...dialect, decodeJson: (stored) => stored });
  const load = dialect.text(
    `select ${EXECUTION} as kind, ${arrayOf(execution)} as data, 0::bigint as at, 0::bigint as sequence
       from saga_executions where id = any (${TEXTS})
     union all
     select ${ATTEMPT}, ${arrayOf(attempt)}, 0, sequence
       from saga_step_attempts where saga_execution_id = any (${TEXTS})
     union all
     select ${SIGNAL}, ${arrayOf(signal)}, ${microseconds("created_at")}, sequence
       from saga_signals where saga_execution_id = any (${TEXTS}) and consumed_at is null
     order by kind, at, sequence`,
  );

  function* loadAll(ids: readonly string[]): Steps<readonly (ExecutionRecord | null)[]> {
    const list = dialect.list(ids);
    const found = yield* rows(load, [list, list, list]);
    const of = <T>(kind: number, mapping: Mapping<T>) =>
      found.filter((row) => Number(row.kind) === kind).map((row) => mapping.decode(rowOf(mapping, row)));
    return recordsOf(ids, {
      executions: of<Execution>(EXECUTION, parsed.execution),
      attempts: of<Attempt>(ATTEMPT, parsed.attempt),
      signals: of<Signal>(SIGNAL, parsed.signal),
    });
  }

  return {
    ...loader(dialect, maps),
    load: (ids) => () => loadAll(ids),
  };
}

/** A row as an array of JSON. A megabyte in one column is parsed once, with all the rest. */
function arrayOf<T>({ columns, types }: Mapping<T>): string {
  const values = columns.map((name, at) => types[at] === "instant" ? microseconds(`"${name}"`) : `"${name}"`);
  return `json_build_array(${values.join(", ")})::text`;
}

function rowOf<T>({ columns }: Mapping<T>, { data }: Row): Row {
  const values = JSON.parse(String(data)) as readonly unknown[];
  return Object.fromEntries(columns.map((name, at) => [name, values[at]]));
}
