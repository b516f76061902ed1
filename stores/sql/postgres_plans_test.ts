import assert from "node:assert/strict";
import { pause, systemClock } from "../../src/clock.ts";
import pg from "pg";
import { changeOf } from "../../src/domain/change.ts";
import type { Store } from "../../src/store.ts";
import { anAttempt, anExecution, T0 } from "../../testing/factories.ts";
import { freshSchema, inSchema, withPostgres } from "../fixtures/postgres.ts";
import { postgresStore } from "../postgres.ts";

interface PlanNode {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly PlanNode[];
}

const FILTER = { partitions: ["default"], definitions: [{ name: "orders.checkout", version: 1 }], takeOver: true };

/** How the statements of a call are run on tables that hold a few thousand executions, finished for the most part. */
async function plansOf(call: (store: Store) => Promise<unknown>): Promise<readonly string[]> {
  const { schema, drop } = await freshSchema();
  const pool = new pg.Pool({ connectionString: inSchema(schema), max: 3 });
  const statements: { text: string; values: unknown[] }[] = [];
  let isOn = false;
  pool.on("connect", (client: pg.PoolClient) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    (client as { query: unknown }).query = (...args: unknown[]) => {
      const [config] = args as [{ text: string; values: unknown[] }];
      if (isOn && typeof config === "object") statements.push(config);
      return query(...args);
    };
  });
  const store = postgresStore({ pool });
  try {
    await store.migrate();
    const finished = { status: "completed", finishedAt: T0, wakeAt: null, dueAt: null } as const;
    await store.insert(Array.from({ length: 4_000 }, (_, at) => anExecution({ id: `old-${at}`, ...finished })));
    await store.insert(Array.from({ length: 400 }, (_, at) => anExecution({ id: `new-${at}` })));
    await pool.query(
      `insert into saga_step_attempts (id, saga_execution_id, step_name, direction, epoch, attempt, kind, position, status,
         started_at, finished_at, duration_ms, undo, "key")
       select id, id, 'reserve', 'execute', 1, 1, 'step', 0, 'succeeded', now(), now(), 1, 'none', id
       from saga_executions`,
    );
    await pool.query(
      `insert into saga_signals (id, saga_execution_id, name, created_at) select id, id, 'paid', now()
       from saga_executions`,
    );
    await pool.query("analyze");
    isOn = true;
    await call(store);
    isOn = false;
    const found: string[] = [];
    for (const { text, values } of statements) {
      if (!/saga_/.test(text)) continue;
      const { rows } = await pool.query(`explain (format json) ${text}`, values);
      collect(rows[0]["QUERY PLAN"][0].Plan, found);
    }
    return found;
  } finally {
    await store.close();
    await pool.end();
    await drop();
  }
}

function collect(node: PlanNode, found: string[]): void {
  if (
    node["Node Type"] === "Index Scan" || node["Node Type"] === "Bitmap Index Scan" || /Only/.test(node["Node Type"])
  ) {
    found.push(node["Index Name"]!);
  }
  if (node["Node Type"] === "Seq Scan") found.push(`all of ${node["Relation Name"]}`);
  for (const child of node.Plans ?? []) collect(child, found);
}

withPostgres("the plans of PostgreSQL's statements", () => {
  const expectations: readonly [string, (store: Store) => Promise<unknown>, readonly string[]][] = [
    ["commit() finds executions by their ids", (store) =>
      store.commit([
        changeOf(anExecution({ id: "new-1" }), {}, { attempts: [anAttempt({ executionId: "new-1" })] }),
        changeOf(anExecution({ id: "new-2" }), {}),
      ]), ["saga_executions_pkey"]],
    [
      "commit() finds a lone execution by its id",
      (store) =>
        store.commit([changeOf(anExecution({ id: "new-1" }), {}, { attempts: [anAttempt({ executionId: "new-1" })] })]),
      [
        "saga_executions_pkey",
      ],
    ],
    ["load() reads by ids alone", (store) => store.load(["new-1", "new-2"]), [
      "saga_executions_pkey",
      "saga_step_attempts_once",
      "saga_signals_once",
    ]],
    [
      "renew() finds executions by their ids",
      (store) => store.renew([{ executionId: "new-1", token: "worker-1/a", until: T0 }]),
      ["saga_executions_pkey"],
    ],
    [
      "claimDue() finds what is due by the wake index, then moves it by its id",
      (store) => store.claimDue({ ...FILTER, now: T0, limit: 10, patienceMs: 1_000, counted: true }),
      [
        "saga_executions_wake",
        "saga_executions_pkey",
      ],
    ],
    ["nextWake() reads the beginning of the wake index", (store) => store.nextWake(FILTER), ["saga_executions_wake"]],
    [
      "prune() finds the oldest finished by their index, and each parent by its id",
      (store) => store.prune({ finishedBefore: T0 - 1, statuses: ["completed"], limit: 10 }),
      [
        "saga_executions_ended",
        "saga_executions_pkey",
      ],
    ],
  ];
  for (const [name, call, indexes] of expectations) {
    Deno.test(name, async () => assert.deepEqual([...new Set(await plansOf(call))].toSorted(), indexes.toSorted()));
  }

  Deno.test("unserved() never reads what is finished", async () => {
    const plans = await plansOf((store) => store.workers.unserved({ now: T0, overdueSince: T0 - 1, limit: 10 }));
    assert.deepEqual(plans.filter((plan) => plan === "all of saga_executions"), []);
  });

  Deno.test("commit() of a step in the middle touches no index: its updates are heap-only", async () => {
    // Four versions of fifty rows would take three times as many pages if any of them had to leave its page. A snapshot
    // that another suite of this database has open keeps old versions there as well, for a while.
    let pages = await pagesAfterSteps();
    for (let again = 0; pages > 4 && again < 20; again++) {
      await pause(systemClock, 300);
      pages = await pagesAfterSteps();
    }
    assert.ok(pages <= 4, `${pages} pages`);
  });
});

/** How many pages fifty executions take after three steps. */
async function pagesAfterSteps(): Promise<number> {
  const { schema, drop } = await freshSchema();
  const store = postgresStore({ url: inSchema(schema), poolSize: 3 });
  await store.migrate();
  let rows = Array.from({ length: 50 }, (_, at) => anExecution({ id: `${at}`, owner: "worker-1/a" }));
  await store.insert(rows);
  for (const step of ["charge", "ship", "mail"]) {
    const changes = rows.map((row) =>
      changeOf(row, { currentStep: step, owner: `worker-1/${step}`, wakeAt: row.wakeAt! + 1_000, context: { step } })
    );
    await store.commit(changes);
    rows = changes.map(({ execution }) => execution);
  }
  const [used] = await store.transaction(({ tx }) =>
    tx.query("select count(distinct (ctid::text::point)[0])::int as pages from saga_executions")
  );
  await store.close();
  await drop();
  return Number(used!.pages);
}
