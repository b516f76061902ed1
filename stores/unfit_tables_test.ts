import assert from "node:assert/strict";
import { isSagaError } from "../src/errors.ts";
import { type Kind, KINDS, openStore, type TestDatabase, withEmpty } from "./fixtures/databases.ts";
import { idOf, inDialect, inserts, VARIANTS } from "./fixtures/lepus_saga.ts";
import { dumpSchema } from "./fixtures/schema_dump.ts";

type Dialect = Kind["dialect"];

/** What stands in the way of taking lepus-saga's tables over, how it is told, and how it is mended. */
interface Obstacle {
  readonly what: string;
  readonly made: Readonly<Partial<Record<Dialect, readonly string[]>>>;
  readonly told: RegExp;
  readonly mended: Readonly<Partial<Record<Dialect, readonly string[]>>>;
}

const ALL: readonly Dialect[] = ["sqlite", "postgres", "mysql"];

function everywhere(...statements: readonly string[]): Readonly<Record<Dialect, readonly string[]>> {
  return { sqlite: statements, postgres: statements, mysql: statements };
}

const FIRST = `id = '${idOf(1)}'`;
const TOO_LONG = "a".repeat(300);

const OBSTACLES: readonly Obstacle[] = [
  {
    what: "a status that nobody knows",
    made: everywhere(`update saga_executions set status = 'paused' where ${FIRST}`),
    told: /"saga_executions": its column "status" has "paused" in 1 row, and running, .* are known; mend that$/,
    mended: everywhere(`update saga_executions set status = 'running' where ${FIRST}`),
  },
  {
    what: "an attempt's status that nobody knows",
    made: everywhere("update saga_step_attempts set status = 'lost' where status = 'running'"),
    told: /"saga_step_attempts": its column "status" has "lost" in 2 rows/,
    mended: everywhere("update saga_step_attempts set status = 'running' where status = 'lost'"),
  },
  {
    what: "a context that is no object",
    made: everywhere(`update saga_executions set context = '[1]' where ${FIRST}`),
    told: /"saga_executions": its column "context" has "\[1\]" in 1 row, and is no object/,
    mended: everywhere(`update saga_executions set context = '{}' where ${FIRST}`),
  },
  {
    what: "a table without a column that lepus-saga has",
    made: everywhere("alter table saga_executions rename column current_step to step"),
    told: /a table "saga_executions" of another system, which has no column "current_step"; rename it/,
    mended: everywhere("alter table saga_executions rename column step to current_step"),
  },
  {
    what: "attempts without executions",
    made: everywhere("alter table saga_executions rename to kept"),
    told: /"saga_step_attempts": there is no saga_executions that it belongs to/,
    mended: everywhere("alter table kept rename to saga_executions"),
  },
  {
    what: "a column that must be filled by somebody",
    made: {
      postgres: [
        "alter table saga_executions add column tenant varchar(20) not null default 'a'",
        "alter table saga_executions alter column tenant drop default",
      ],
      mysql: [
        "alter table saga_executions add column tenant varchar(20) not null default 'a'",
        "alter table saga_executions alter column tenant drop default",
      ],
    },
    told: /"saga_executions": its column "tenant" must not be null, and nobody fills it; give it a default/,
    mended: {
      postgres: ["alter table saga_executions alter column tenant set default 'b'"],
      mysql: ["alter table saga_executions alter column tenant set default 'b'"],
    },
  },
  {
    what: "a column that the database fills",
    made: {
      sqlite: ["alter table saga_executions add column shout text as (upper(status)) virtual"],
      postgres: ["alter table saga_executions add column shout text generated always as (upper(status)) stored"],
      mysql: ["alter table saga_executions add column shout varchar(255) as (upper(status)) stored"],
    },
    told: /"saga_executions": its column "shout" is filled by the database; drop it/,
    mended: everywhere("alter table saga_executions drop column shout"),
  },
  {
    what: "a column with numbers from a sequence",
    made: { postgres: ["alter table saga_executions add column number serial"] },
    told: /"saga_executions": its column "number" is filled by the database/,
    mended: {
      postgres: ["alter table saga_executions alter column number drop default, alter column number drop not null"],
    },
  },
  {
    what: "a column of a type that tells too little",
    made: {
      postgres: ["alter table saga_executions alter column context type text"],
      mysql: ["alter table saga_executions modify context varbinary(1000) not null"],
    },
    told: /"saga_executions": its column "context" is (text|varbinary\(1000\)), and JSON is needed; convert it/,
    mended: {
      postgres: ["alter table saga_executions alter column context type json using context::json"],
      mysql: ["alter table saga_executions modify context json not null"],
    },
  },
  {
    what: "a value of a type that tells too little",
    made: { sqlite: [`update saga_executions set resource_id = x'ff' where ${FIRST}`] },
    told: /"saga_executions": its column "resource_id" has ".*" in 1 row, and text of at most 512 characters is needed/,
    mended: { sqlite: [`update saga_executions set resource_id = '1' where ${FIRST}`] },
  },
  {
    what: "a number in the place of a time",
    made: {
      sqlite: [`update saga_executions set started_at = 1767225600 where ${FIRST}`],
      postgres: [
        "alter table saga_executions alter column finished_at type bigint using extract(epoch from finished_at)",
      ],
      mysql: ["alter table saga_executions modify finished_at bigint"],
    },
    told:
      /"saga_executions": its column "(started_at|finished_at)" (has "1767225600.*" in 1 row|is bigint.*), and a date with its time is needed/,
    mended: {
      sqlite: [`update saga_executions set started_at = '2026-01-01 00:00:00' where ${FIRST}`],
      postgres: ["alter table saga_executions alter column finished_at type timestamp using to_timestamp(finished_at)"],
      mysql: ["alter table saga_executions modify finished_at datetime(6)"],
    },
  },
  {
    what: "a time that is none",
    made: {
      sqlite: [`update saga_executions set started_at = 'yesterday' where ${FIRST}`],
      postgres: [`update saga_executions set started_at = 'infinity' where ${FIRST}`],
    },
    told:
      /"saga_executions": its column "started_at" has "(yesterday|infinity)" in 1 row, and a date with its time is needed/,
    mended: {
      sqlite: [`update saga_executions set started_at = '2026-01-01T00:00:00Z' where ${FIRST}`],
      postgres: [`update saga_executions set started_at = '2026-01-01' where ${FIRST}`],
    },
  },
  {
    what: "JSON that is none",
    made: {
      sqlite: [`update saga_executions set context = '{' where ${FIRST}`],
      mysql: [
        "alter table saga_executions modify context longtext",
        `update saga_executions set context = '{' where ${FIRST}`,
      ],
    },
    told: /"saga_executions": its column "context" has "{" in 1 row, and JSON is needed/,
    mended: {
      sqlite: [`update saga_executions set context = '{}' where ${FIRST}`],
      mysql: [`update saga_executions set context = '{}' where ${FIRST}`],
    },
  },
  {
    what: "a name that is longer than an index can hold",
    made: {
      mysql: [
        "alter table saga_executions modify current_step varchar(400)",
        `update saga_executions set current_step = '${TOO_LONG}' where ${FIRST}`,
      ],
    },
    told:
      /"saga_executions": its column "current_step" has "a+…?"? in 1 row, and text of at most 255 characters is needed/,
    mended: { mysql: [`update saga_executions set current_step = 'reserve' where ${FIRST}`] },
  },
  {
    what: "a number that is too large",
    made: {
      postgres: [
        "alter table saga_executions alter column resume_count type bigint",
        `update saga_executions set resume_count = 3000000000 where ${FIRST}`,
      ],
    },
    told: /"saga_executions": its column "resume_count" has "3000000000" in 1 row, and a whole number is needed/,
    mended: { postgres: [`update saga_executions set resume_count = 3 where ${FIRST}`] },
  },
  {
    what: "a row without what every row needs",
    made: {
      postgres: [
        "alter table saga_executions alter column current_step drop not null",
        `update saga_executions set current_step = null where ${FIRST}`,
      ],
      mysql: [
        "alter table saga_executions modify current_step varchar(255)",
        `update saga_executions set current_step = null where ${FIRST}`,
      ],
    },
    told: /"saga_executions": its column "current_step" has null in 1 row, which every row needs/,
    mended: {
      postgres: [`update saga_executions set current_step = 'reserve' where ${FIRST}`],
      mysql: [`update saga_executions set current_step = 'reserve' where ${FIRST}`],
    },
  },
  {
    what: "an attempt that is there twice",
    made: {
      sqlite: ["drop index saga_step_attempts_scope", twinOf(1)],
      postgres: ["drop index saga_step_attempts_scope", twinOf(1)],
      // The index serves the foreign key as well.
      mysql: [
        "create index saga_step_attempts_execution on saga_step_attempts (saga_execution_id)",
        "drop index saga_step_attempts_scope on saga_step_attempts",
        twinOf(1),
      ],
    },
    told: new RegExp(
      `"saga_step_attempts": it has an attempt twice, of "${idOf(2)}" among others: .*; delete one of them`,
    ),
    mended: everywhere(`delete from saga_step_attempts where id = '${idOf(999)}'`),
  },
  {
    what: "another table that refers to it",
    made: everywhere(
      "create table notes (execution_id varchar(36), foreign key (execution_id) references saga_executions (id))",
    ),
    told: /"saga_executions": the table .*notes depends on it; drop that, and make it anew after the migration/,
    mended: everywhere("drop table notes"),
  },
  {
    what: "a view",
    made: {
      sqlite: ["create view open_sagas as select id from saga_executions"],
      postgres: ["create view open_sagas as select id from saga_executions"],
    },
    told: /"saga_executions": the view .*open_sagas depends on it/,
    mended: everywhere("drop view open_sagas"),
  },
  {
    what: "a trigger",
    made: {
      sqlite: ["create trigger watch after insert on saga_step_attempts begin select 1; end"],
      postgres: [
        "create function watched() returns trigger language plpgsql as 'begin return new; end'",
        "create trigger watch after insert on saga_step_attempts execute function watched()",
      ],
      mysql: ["create trigger watch after insert on saga_step_attempts for each row set @watched = 1"],
    },
    told: /"saga_step_attempts": the trigger watch depends on it/,
    mended: {
      sqlite: ["drop trigger watch"],
      postgres: ["drop trigger watch on saga_step_attempts"],
      mysql: ["drop trigger watch"],
    },
  },
  {
    what: "a policy",
    made: { postgres: ["create policy mine on saga_executions using (true)"] },
    told: /"saga_executions": the policy mine depends on it/,
    mended: { postgres: ["drop policy mine on saga_executions"] },
  },
];

/** A second row of the first attempt of the second execution. */
function twinOf(attempt: number): string {
  const columns = "saga_execution_id, step_name, direction, epoch, attempt, status, started_at";
  return `insert into saga_step_attempts (id, ${columns}) select '${idOf(999)}', ${columns}` +
    ` from saga_step_attempts where saga_execution_id = '${
      idOf(2)
    }' and step_name = 'reserve' and attempt = ${attempt}`;
}

/** Everything that there is in the two tables, and how they are made. */
async function snapshot(database: TestDatabase, { dialect }: Kind): Promise<string> {
  const rows: unknown[] = [];
  const tables = /saga_executions[` (]/.test(await dumpSchema(database, dialect))
    ? ["saga_executions", "saga_step_attempts"]
    : ["saga_step_attempts"];
  for (const table of tables) rows.push(...await database.query(`select * from ${table} order by id`));
  return `${await dumpSchema(database, dialect)}\n${JSON.stringify(rows, null, 1)}`;
}

for (const kind of KINDS) {
  kind.register(`tables on ${kind.name} that do not fit`, () => {
    for (const { what, made, told, mended } of OBSTACLES) {
      const statements = made[kind.dialect];
      if (statements === undefined) continue;

      Deno.test(`${kind.name}: migrate() refuses ${what}, changes nothing, and works once it is mended`, () =>
        withEmpty(kind, async (database) => {
          const { tables } = VARIANTS[kind.dialect][0]!;
          for (const sql of [...tables, ...inserts(), ...statements]) {
            await database.query(inDialect(sql, kind.dialect));
          }
          const before = await snapshot(database, kind);
          const store = openStore(database.address);
          for (let time = 0; time < 2; time++) {
            await assert.rejects(store.migrate(), (error) => {
              assert.ok(isSagaError(error, "schema_unfit"), String(error));
              assert.match(error.message, told);
              return true;
            });
            assert.equal(await snapshot(database, kind), before);
          }
          for (const sql of mended[kind.dialect]!) await database.query(sql);
          await store.migrate();
          assert.equal((await store.load([idOf(1)]))[0]!.execution.currentStep, "reserve");
          await store.close();
        }));
    }
  });
}

Deno.test("each obstacle is made and mended on the same databases", () => {
  for (const { made, mended } of OBSTACLES) {
    for (const dialect of ALL.filter((one) => made[one] !== undefined)) assert.ok(mended[dialect] !== undefined);
  }
});
