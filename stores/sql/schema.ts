/**
 * Brings a database's tables to a version, forwards and back.
 *
 * Each change looks whether it was made already, so that a migration that was cut off goes on where it stopped: MySQL and
 * MariaDB commit with every statement that changes a table.
 */

import type { Instant } from "../../src/domain/record.ts";
import { SagaError } from "../../src/errors.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { type Migration, MIGRATIONS } from "./migrations.ts";
import { createIndex, createTable, declarationOf, required, type SchemaChange, type Table } from "./tables.ts";
import { change, rows, type Steps, type Work } from "./work.ts";

/** Brings a database's tables to a version. */
export interface Migrator {
  /** Whether migrations are missing; throws `schema_newer`. */
  isPending(): Work<boolean>;
  /** Applies what is missing, while the caller locks out others; throws `schema_newer`. */
  migrate(now: Instant): Work<void>;
}

const HISTORY = "leveret_schema";

/** The migrator of a database. */
export function migrator(dialect: Dialect, migrations: readonly Migration[] = MIGRATIONS): Migrator {
  const newest = migrations.at(-1)?.version ?? 0;
  const exists = dialect.text(dialect.tableExists);
  const applied = dialect.text(`select version, older_may_run from ${HISTORY} order by version`);
  const record = dialect.text(
    `insert into ${HISTORY} (version, older_may_run, applied_at) values (?, ?, ${dialect.parameter("instant")})`,
  );

  function* missing(): Steps<readonly Migration[]> {
    if ((yield* rows(exists, [HISTORY])).length === 0) return migrations;
    const found = yield* rows(applied, []);
    const tooNew = found.find((row) => Number(row.version) > newest && Number(row.older_may_run) === 0);
    if (tooNew !== undefined) {
      throw new SagaError(
        "schema_newer",
        `Cannot use the database: its schema has version ${tooNew.version}, this code knows ${newest}; update @leveret/saga`,
      );
    }
    const versions = new Set(found.map((row) => Number(row.version)));
    return migrations.filter(({ version }) => !versions.has(version));
  }

  return {
    isPending() {
      return function* () {
        return (yield* missing()).length > 0;
      };
    },
    migrate(now) {
      return function* () {
        const pending = yield* missing();
        if (pending.length === 0) return;
        // All of them before anything is made: what is refused has changed nothing.
        for (const each of pending.flatMap(({ changes }) => changes(dialect))) {
          if (each.kind === "table") yield* refuseStranger(dialect, each.table);
        }
        yield* make(dialect, { kind: "table", table: historyTable() });
        for (const migration of pending) {
          for (const each of migration.changes(dialect)) yield* make(dialect, each);
          const olderMayRun = migration.olderMayRun ? 1 : 0;
          yield* change(record, [migration.version, olderMayRun, encodeInstant(dialect, now, "applied_at")]);
        }
      };
    },
  };
}

function historyTable(): Table {
  const columns = [
    { name: "version", type: "integer", isRequired: true, isKey: true },
    required("older_may_run", "integer"),
    required("applied_at", "instant"),
  ] as const;
  return { name: HISTORY, columns, more: "" };
}

/** Makes a change, unless it was made. */
function* make(dialect: Dialect, made: SchemaChange): Steps<void> {
  switch (made.kind) {
    case "table": {
      const { table } = made;
      if (yield* isTable(dialect, table.name)) return;
      return yield* run(dialect, createTable(table, dialect));
    }
    case "column": {
      const { table, column } = made;
      if (yield* isNamed(dialect, dialect.columnsOf, table, column.name)) return;
      return yield* run(dialect, `alter table ${table} add column ${declarationOf(column, dialect)}`);
    }
    case "index": {
      const { index } = made;
      if (yield* isNamed(dialect, dialect.indexesOf, index.table, index.name)) return;
      return yield* run(dialect, createIndex(index, dialect));
    }
    case "statements":
      for (const sql of made.up) yield* run(dialect, sql);
      return;
    default:
      return made satisfies never;
  }
}

/** Refuses a table of our name that is somebody else's. */
function* refuseStranger(dialect: Dialect, { name, columns }: Table): Steps<void> {
  const found = new Set((yield* rows(dialect.text(dialect.columnsOf), [name])).map((row) => row.name));
  if (found.size === 0 || columns.every((column) => found.has(column.name))) return;
  throw new SagaError(
    "schema_missing",
    `Cannot make the tables: there is a ${name} of another system; rename it, or use another database`,
  );
}

function* isTable(dialect: Dialect, table: string): Steps<boolean> {
  return (yield* rows(dialect.text(dialect.tableExists), [table])).length > 0;
}

function* isNamed(dialect: Dialect, list: string, table: string, name: string): Steps<boolean> {
  return (yield* rows(dialect.text(list), [table])).some((row) => row.name === name);
}

function* run(dialect: Dialect, sql: string): Steps<void> {
  yield* change(dialect.text(sql), []);
}
