/**
 * Brings a database's tables to a version, forwards and back.
 *
 * Each change looks whether it was made already, so that a migration that was cut off goes on where it stopped: MySQL and
 * MariaDB commit with every statement that changes a table. Whatever can be refused is refused before the first change.
 */

import type { Instant } from "../../src/domain/record.ts";
import { SagaError } from "../../src/errors.ts";
import { type Destination, refuseUnfinished } from "../migrate_options.ts";
import { adopt } from "./adopt.ts";
import { encodeInstant } from "./columns.ts";
import type { Dialect } from "./dialect.ts";
import { type Migration, MIGRATIONS } from "./migrations.ts";
import {
  createIndex,
  createTable,
  declarationOf,
  type Index,
  isNamed,
  isTable,
  key,
  required,
  run,
  type SchemaChange,
  type Table,
} from "./tables.ts";
import { change, rows, type Steps, type Work } from "./work.ts";

/** Brings a database's tables to a version. */
export interface Migrator {
  /** The version that it knows how to bring them to. */
  readonly newest: number;
  /** Whether migrations are missing; throws `schema_newer`. */
  isPending(): Work<boolean>;
  /** Whether the tables are where {@linkcode Migrator.migrate} would bring them; throws `schema_newer`. */
  isThere(destination: Destination): Work<boolean>;
  /** Applies what is missing, or takes back what is too much, while the caller locks out others. To the newest version. */
  migrate(now: Instant, destination?: Destination): Work<void>;
}

const HISTORY = "leveret_schema";

/** What has to be done, in order. */
interface Route {
  readonly back: readonly Migration[];
  readonly forth: readonly Migration[];
  /** Whether nothing is to be left, so that nobody has to know what was there. */
  readonly isEnd: boolean;
}

/** The migrator of a database. */
export function migrator(dialect: Dialect, migrations: readonly Migration[] = MIGRATIONS): Migrator {
  const newest = migrations.at(-1)?.version ?? 0;
  const applied = dialect.text(`select version, older_may_run from ${HISTORY} order by version`);
  const remember = dialect.text(
    `insert into ${HISTORY} (version, older_may_run, applied_at) values (?, ?, ${dialect.parameter("instant")})`,
  );
  const forget = dialect.text(`delete from ${HISTORY} where version = ?`);

  function* route({ target }: Pick<Destination, "target">): Steps<Route> {
    const isThere = yield* isTable(dialect, HISTORY);
    const found = isThere ? yield* rows(applied, []) : [];
    const unknown = found.find((row) => Number(row.version) > newest);
    const tooNew = found.find((row) => Number(row.version) > newest && Number(row.older_may_run) === 0);
    if (tooNew !== undefined) {
      throw newer(
        `Cannot use the database: its schema has version ${tooNew.version}, this code knows ${newest}; update @leveret/saga`,
      );
    }
    if (unknown !== undefined && target < newest) {
      throw newer(
        `Cannot take the tables back to version ${target}: they have version ${unknown.version}, ` +
          `this code knows ${newest}; do it with the code that made them`,
      );
    }
    const versions = new Set(found.map((row) => Number(row.version)));
    const isEnd = target === 0 && isThere;
    return {
      // At the end all of them: a way back that was cut off has forgotten what it had not yet dropped.
      back: migrations.filter(({ version }) => version > target && (isEnd || versions.has(version))).toReversed(),
      forth: migrations.filter(({ version }) => version <= target && !versions.has(version)),
      isEnd,
    };
  }

  function* goBack({ back, isEnd }: Route, { target, discardUnfinished }: Destination): Steps<void> {
    const changes = back.flatMap((migration) => migration.changes(dialect));
    if (!discardUnfinished && changes.some(losesData)) yield* refuseIfUnfinished(dialect, target);
    for (const migration of back) {
      // Before it is taken back: what is cut off in the middle is then made again, not taken for complete.
      yield* change(forget, [migration.version]);
      for (const each of migration.changes(dialect).toReversed()) {
        if (!(isEnd && isLostWithTables(each))) yield* takeBack(dialect, each);
      }
    }
    if (isEnd) yield* run(dialect, `drop table ${HISTORY}`);
  }

  function* goForth({ forth }: Route, now: Instant): Steps<void> {
    if (forth.length === 0) return;
    const changes = forth.flatMap((migration) => migration.changes(dialect));
    yield* adopt(dialect, changes, now);
    yield* make(dialect, { kind: "table", table: HISTORY_TABLE });
    for (const migration of forth) {
      for (const each of migration.changes(dialect)) yield* make(dialect, each);
      const olderMayRun = migration.olderMayRun ? 1 : 0;
      yield* change(remember, [migration.version, olderMayRun, encodeInstant(dialect, now, "applied_at")]);
    }
  }

  return {
    newest,
    isPending() {
      return function* () {
        return (yield* route({ target: newest })).forth.length > 0;
      };
    },
    isThere(destination) {
      return function* () {
        const { back, forth, isEnd } = yield* route(destination);
        return back.length === 0 && forth.length === 0 && !isEnd;
      };
    },
    migrate(now, destination = { target: newest, discardUnfinished: false }) {
      return function* () {
        const taken = yield* route(destination);
        yield* goBack(taken, destination);
        yield* goForth(taken, now);
      };
    },
  };
}

const HISTORY_TABLE: Table = {
  name: HISTORY,
  columns: [key("version", "integer"), required("older_may_run", "integer"), required("applied_at", "instant")],
  computed: [],
};

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
      return yield* run(dialect, `alter table ${dialect.named(table)} add column ${declarationOf(column, dialect)}`);
    }
    case "index":
      return yield* addIndex(dialect, made.index);
    case "no index":
      return yield* dropIndex(dialect, made.index);
    case "statements":
      for (const sql of made.up) yield* run(dialect, sql);
      return;
    default:
      return made satisfies never;
  }
}

/** Takes a change back, unless it was taken back. */
function* takeBack(dialect: Dialect, made: SchemaChange): Steps<void> {
  switch (made.kind) {
    case "table":
      return yield* run(dialect, `drop table if exists ${dialect.named(made.table.name)}`);
    case "column": {
      const { table, column } = made;
      if (!(yield* isNamed(dialect, dialect.columnsOf, table, column.name))) return;
      return yield* run(dialect, `alter table ${dialect.named(table)} drop column "${column.name}"`);
    }
    case "index":
      return yield* dropIndex(dialect, made.index);
    case "no index":
      return yield* addIndex(dialect, made.index);
    case "statements":
      for (const sql of made.down) yield* run(dialect, sql);
      return;
    default:
      return made satisfies never;
  }
}

function* addIndex(dialect: Dialect, index: Index): Steps<void> {
  if (yield* isNamed(dialect, dialect.indexesOf, index.table, index.name)) return;
  yield* run(dialect, createIndex(index, dialect));
}

function* dropIndex(dialect: Dialect, { name, table }: Index): Steps<void> {
  if (!(yield* isNamed(dialect, dialect.indexesOf, table, name))) return;
  yield* run(dialect, dialect.dropIndex(name, table));
}

/** Whether it goes by itself when all tables go; some of these may have gone already, when that was cut off. */
function isLostWithTables({ kind }: SchemaChange): boolean {
  return kind !== "table";
}

function losesData(made: SchemaChange): boolean {
  return made.kind === "table" || (made.kind === "column" && !made.isDerived);
}

function* refuseIfUnfinished(dialect: Dialect, target: number): Steps<void> {
  if (!(yield* isTable(dialect, "saga_executions"))) return;
  const { lockTable } = dialect;
  if (lockTable !== null) yield* run(dialect, lockTable("saga_executions"));
  const count = "select count(*) as unfinished, min(id) as example from saga_executions where finished_at is null";
  const [row] = yield* rows(dialect.text(count), []);
  if (Number(row!.unfinished) > 0) refuseUnfinished(target, Number(row!.unfinished), String(row!.example));
}

function newer(message: string): SagaError {
  return new SagaError("schema_newer", message);
}
