import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { isSagaError } from "../../src/errors.ts";
import { T0 } from "../../testing/factories.ts";
import { type Migration, MIGRATIONS } from "./migrations.ts";
import { migrator } from "./schema.ts";
import { SqliteConnection } from "./sqlite_connection.ts";
import { sqliteDialect } from "./sqlite_dialect.ts";
import { addColumn, addIndex, addTable, optional, required, type SchemaChange } from "./tables.ts";

function aMigration(version: number, olderMayRun: boolean): Migration {
  return { version, olderMayRun, changes: () => [addTable(`example_${version}`, [optional("id", "integer")])] };
}

/** A database that knows these migrations, all applied. */
function aDatabase(migrations: readonly Migration[]): { connection: SqliteConnection } & Disposable {
  const connection = new SqliteConnection(new DatabaseSync(":memory:"));
  connection.write(migrator(sqliteDialect, migrations).migrate(T0));
  return { connection, [Symbol.dispose]: () => connection.database.close() };
}

function versionsOf({ database }: SqliteConnection): readonly unknown[] {
  return database.prepare("select version from leveret_schema order by version").all().map((row) => row.version);
}

Deno.test("migrations have ascending versions", () => {
  assert.deepEqual(MIGRATIONS.map(({ version }) => version), MIGRATIONS.map((_, index) => index + 1));
});

Deno.test("isPending() is true of an empty database, and false once it was migrated", () => {
  const { isPending, migrate } = migrator(sqliteDialect);
  using database = new DatabaseSync(":memory:");
  const connection = new SqliteConnection(database);
  assert.equal(connection.read(isPending()), true);
  connection.write(migrate(T0));
  assert.equal(connection.read(isPending()), false);
});

Deno.test("migrate() applies what is missing, once", () => {
  const first = aMigration(1, false);
  using database = aDatabase([first]);
  const { migrate } = migrator(sqliteDialect, [first, aMigration(2, true)]);
  database.connection.write(migrate(T0));
  database.connection.write(migrate(T0));
  assert.deepEqual(versionsOf(database.connection), [1, 2]);
});

Deno.test("migrate() that fails in the middle leaves nothing behind", () => {
  const changes = () =>
    [addTable("a", [optional("id", "integer")]), { kind: "statements", up: ["nonsense"], down: [] }] as const;
  const broken: Migration = { version: 1, olderMayRun: false, changes };
  using database = new DatabaseSync(":memory:");
  const connection = new SqliteConnection(database);
  assert.throws(() => connection.write(migrator(sqliteDialect, [broken]).migrate(T0)), /nonsense/);
  assert.deepEqual(database.prepare("select name from sqlite_master").all(), []);
});

Deno.test("code that knows less than the database is refused with schema_newer", () => {
  using database = aDatabase([aMigration(1, false), aMigration(2, false)]);
  const { isPending, migrate } = migrator(sqliteDialect, [aMigration(1, false)]);
  const isNewer = (error: unknown) => isSagaError(error, "schema_newer") && /version 2.*knows 1/.test(error.message);
  assert.throws(() => database.connection.read(isPending()), isNewer);
  assert.throws(() => database.connection.write(migrate(T0)), isNewer);
});

Deno.test("code that knows less goes on where the newer migrations say that it may", () => {
  using database = aDatabase([aMigration(1, false), aMigration(2, true)]);
  assert.equal(database.connection.read(migrator(sqliteDialect, [aMigration(1, false)]).isPending()), false);
});

/** What older code would have to know of a migration, in words; null if it need not know of it. */
function neededByOlder({ olderMayRun, changes }: Migration): string | null {
  if (!olderMayRun) return null;
  for (const change of changes(sqliteDialect)) {
    if (change.kind === "column" && change.column.isRequired) return `${change.column.name} has to be filled`;
    if (change.kind === "index" && change.index.isUnique) return `${change.index.name} refuses rows`;
  }
  return null;
}

Deno.test("migrations of which older code may know nothing ask nothing of it", () => {
  const asks = (change: SchemaChange): string | null =>
    neededByOlder({ version: 2, olderMayRun: true, changes: () => [change] });
  assert.equal(asks(addColumn("saga_executions", required("example", "word"))), "example has to be filled");
  assert.equal(asks(addIndex("one", "saga_executions", { columns: ["id"], isUnique: true })), "one refuses rows");
  assert.equal(asks(addColumn("saga_executions", optional("example", "word"))), null);
  assert.deepEqual(MIGRATIONS.map(neededByOlder), MIGRATIONS.map(() => null));
});
