import assert from "node:assert/strict";
import { changeOf } from "../src/domain/change.ts";
import { anAttempt, aNewSignal, anExecution, T0 } from "../testing/factories.ts";
import { aFullExecution } from "../testing/store_conformance/suite.ts";
import { virtualClock } from "../testing/virtual_clock.ts";
import { type Kind, KINDS, openStore, type Rows, type TestDatabase, withEmpty } from "./fixtures/databases.ts";
import { adopted, idOf, inDialect, inserts, VARIANTS } from "./fixtures/lepus_saga.ts";
import { dumpSchema, freshDump } from "./fixtures/schema_dump.ts";

const NOW = T0 + 86_400_000;

/** Makes lepus-saga's tables with rows in them, and whatever else is said, and takes them over. */
async function take(database: TestDatabase, { dialect }: Kind, statements: readonly string[]): Promise<void> {
  const { tables } = VARIANTS[dialect][0]!;
  for (const sql of [...tables, ...inserts(), ...statements]) await database.query(inDialect(sql, dialect));
  await migrate(database);
}

async function migrate({ address }: TestDatabase): Promise<void> {
  const store = openStore(address, { clock: virtualClock(NOW) });
  await store.migrate();
  await store.close();
}

/** Ours with rows in them, changed by hand, and taken over without a word of their version. */
async function takeOurs(database: TestDatabase, statements: readonly string[]): Promise<void> {
  const store = openStore(database.address);
  await store.migrate();
  await store.insert([FULL, anExecution({ id: "execution-2" })]);
  await store.commit([changeOf(FULL, {}, { attempts: [FIRST, SECOND] })]);
  await store.signal(aNewSignal({ executionId: "execution-2" }));
  await store.close();
  for (const sql of ["drop table leveret_schema", ...statements]) await database.query(sql);
  await migrate(database);
}

const FULL = aFullExecution();
const FIRST = anAttempt({ position: 0 });
const SECOND = anAttempt({ stepName: "charge", position: 1, undo: "unknown", status: "failed", retryAt: T0 + 1.5 });

/** What is in the way of ours: a column that is missing, and another one that is too narrow or of another type. */
const CHANGES: Readonly<Record<Kind["dialect"], readonly string[]>> = {
  sqlite: [
    "alter table saga_executions drop column open_kind",
    "alter table saga_step_attempts drop column position",
    "drop index saga_operations_execution",
  ],
  postgres: [
    "alter table saga_executions drop column open_kind, alter column resource_id type varchar(40), alter column input type jsonb",
    "alter table saga_step_attempts drop column position, alter column attempt type smallint",
    "drop index saga_operations_execution",
  ],
  mysql: [
    "alter table saga_executions drop column open_kind, modify resource_id varchar(40), modify epoch int not null",
    "alter table saga_step_attempts drop column position, modify error_message text, modify attempt tinyint not null",
    "drop index saga_operations_execution on saga_operations",
  ],
};

const STATUSES = "'running', 'compensating', 'completed', 'compensated', 'failed', 'compensation_failed'";

/** What keeps any other status out. */
const CLOSED: Readonly<Record<Kind["dialect"], readonly string[]>> = {
  sqlite: [`create index known on saga_executions (status) where status in (${STATUSES})`],
  postgres: [
    `create type saga_status as enum (${STATUSES})`,
    "alter table saga_executions alter column status drop default, " +
    "alter column status type saga_status using status::saga_status",
    `alter table saga_executions add check (direction in ('execute', 'compensate'))`,
  ],
  mysql: [
    `alter table saga_executions modify status enum(${STATUSES}) not null`,
    `alter table saga_executions add constraint known check (status in (${STATUSES}))`,
  ],
};

/** Columns that are nobody's but a user's. */
const TENANT: Readonly<Record<Kind["dialect"], string>> = {
  sqlite: "alter table saga_executions add column tenant varchar(20) default 'it''s' not null",
  postgres: "alter table saga_executions add column tenant varchar(20) default 'it''s' not null",
  mysql: "alter table saga_executions add column `tenant` varchar(20) character set latin1 not null default 'it''s'" +
    " comment 'a \"name\", or none'",
};

for (const kind of KINDS) {
  kind.register(`columns of tables that are taken over on ${kind.name}`, () => {
    Deno.test(`${kind.name}: columns that are a user's own are kept, with their values and their defaults`, () =>
      withEmpty(kind, async (database) => {
        await take(database, kind, [
          TENANT[kind.dialect],
          "alter table saga_step_attempts add column note varchar(20)",
          `update saga_executions set tenant = 'acme' where id = '${idOf(2)}'`,
          `update saga_step_attempts set note = 'kept' where id = '${idOf(200)}'`,
        ]);
        const store = openStore(database.address);
        await store.insert([anExecution({ id: "new" })]);
        const [taken] = await store.load([idOf(2)]);
        await store.commit([changeOf(taken!.execution, { currentStep: "ship" })]);
        await store.close();
        const tenants = await database.query(
          `select id, tenant from saga_executions where id in ('${idOf(1)}', '${idOf(2)}', 'new') order by id`,
        );
        assert.deepEqual(tenants.map(({ tenant }) => tenant), ["it's", "acme", "it's"]);
        const notes = await database.query("select note from saga_step_attempts where note is not null");
        assert.deepEqual(notes.map(({ note }) => note), ["kept"]);
      }));

    Deno.test(`${kind.name}: a status that is kept to lepus-saga's makes room for ours`, () =>
      withEmpty(kind, async (database) => {
        await take(database, kind, CLOSED[kind.dialect]);
        const store = openStore(database.address);
        const [taken] = await store.load([idOf(2)]);
        const blocked = { status: "blocked", blockedReason: "bug", dueAt: null, wakeAt: null } as const;
        assert.deepEqual(await store.commit([changeOf(taken!.execution, blocked)]), [{ kind: "committed" }]);
        await store.close();
      }));

    Deno.test(`${kind.name}: times keep their microseconds`, () =>
      withEmpty(kind, async (database) => {
        await take(database, kind, [
          `update saga_executions set started_at = '2026-01-01 00:00:00.123456' where id = '${idOf(1)}'`,
          `update saga_executions set started_at = '1969-12-31 23:59:59.999999' where id = '${idOf(2)}'`,
        ]);
        const store = openStore(database.address);
        const times = (await store.load([idOf(1), idOf(2)])).map((record) => record!.execution.startedAt);
        assert.deepEqual(times, [T0 + 123.456, -0.001]);
        await store.close();
      }));

    Deno.test(`${kind.name}: executions are taken over without attempts, if there is no table of these`, () =>
      withEmpty(kind, async (database) => {
        const { tables } = VARIANTS[kind.dialect][0]!;
        const isOfExecutions = (sql: string) => /^(create table|insert into) saga_executions/.test(sql);
        for (const sql of [...tables, ...inserts()].filter(isOfExecutions)) {
          await database.query(inDialect(sql, kind.dialect));
        }
        await migrate(database);
        const store = openStore(database.address);
        const [record] = await store.load([idOf(2)]);
        const { execution } = adopted(NOW).find((one) => one.execution.id === idOf(2))!;
        assert.deepEqual(record, {
          execution: { ...execution, attempt: 0, input: execution.context },
          attempts: [],
          signals: [],
        });
        await store.close();
      }));

    Deno.test(`${kind.name}: ours are used as they are if only their version is forgotten`, () =>
      withEmpty(kind, async (database) => {
        await takeOurs(database, []);
        const store = openStore(database.address);
        const [full, signalled] = await store.load(["execution-1", "execution-2"]);
        assert.deepEqual(full!.execution, { ...FULL, revision: FULL.revision + 1 });
        assert.deepEqual(full!.attempts, [FIRST, SECOND]);
        assert.deepEqual(signalled!.signals.map(({ name }) => name), ["paid"]);
        assert.equal(await dumpSchema(database, kind.dialect), await freshDump(kind));
        await store.close();
      }));

    Deno.test(`${kind.name}: ours with columns missing, too narrow or of another type are made whole, with their rows`, () =>
      withEmpty(kind, async (database) => {
        await takeOurs(database, CHANGES[kind.dialect]);
        const store = openStore(database.address);
        const [full, signalled] = await store.load(["execution-1", "execution-2"]);
        assert.deepEqual(full!.execution, { ...FULL, revision: FULL.revision + 1, openKind: null });
        assert.deepEqual(full!.attempts, [FIRST, SECOND]);
        assert.deepEqual(signalled!.signals.map(({ name }) => name), ["paid"]);
        assert.equal(await dumpSchema(database, kind.dialect), await freshDump(kind));
        await store.close();
      }));

    if (kind.dialect !== "postgres") return;

    Deno.test(`${kind.name}: the owner, and the rights of others, are handed on`, () =>
      withEmpty(kind, async (database) => {
        const roles = ["owner", "reader"].map((name) => `leveret_${name}_${crypto.randomUUID().slice(0, 8)}`);
        const [owner, reader] = roles;
        const rights = (): Promise<Rows> =>
          database.query(
            "select tableowner, has_table_privilege(" + `'${reader}', c.oid, 'select with grant option'` +
              ") as reads, " + `has_table_privilege('${reader}', c.oid, 'update') as writes` +
              " from pg_tables join pg_class c on c.relname = tablename and c.relnamespace = current_schema()::regnamespace" +
              " where schemaname = current_schema() and tablename in ('saga_executions', 'saga_step_attempts')",
          );
        for (const role of roles) await database.query(`create role ${role}`);
        try {
          await take(
            database,
            kind,
            ["saga_executions", "saga_step_attempts"].flatMap((table) => [
              `grant select on ${table} to ${reader} with grant option`,
              `alter table ${table} owner to ${owner}`,
            ]),
          );
          const expected = { tableowner: owner, reads: true, writes: false };
          assert.deepEqual(await rights(), [expected, expected]);
        } finally {
          for (const role of roles) await database.query(`drop owned by ${role}`);
          for (const role of roles) await database.query(`drop role ${role}`);
        }
      }));
  });
}

for (
  const [written, meant] of [
    ["2026-01-01 00:00:00", 0],
    ["2026-01-01T00:00:00Z", 0],
    ["2026-01-01 00:00:00.5", 500],
    ["2026-01-01 00:00:00.123456", 123.456],
    ["2026-01-01 00:00:00.999999", 999.999],
    ["2026-01-01 00:00:00.9999999", 1_000],
    ["2026-01-01 02:00:00.25+02:00", 250],
    ["2025-12-31 19:00:00-05:00", 0],
  ] as const
) {
  Deno.test(`sqlite: the text ${written} is taken over as the time that it means`, () =>
    withEmpty(KINDS[0]!, async (database) => {
      await take(database, KINDS[0]!, [
        `update saga_executions set started_at = '${written}' where id = '${idOf(1)}'`,
      ]);
      const store = openStore(database.address);
      assert.equal((await store.load([idOf(1)]))[0]!.execution.startedAt, T0 + meant);
      await store.close();
    }));
}
