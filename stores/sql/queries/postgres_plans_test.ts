import assert from "node:assert/strict";
import pg from "pg";
import { fillPostgres } from "../../../bench/console_databases.ts";
import { CONSOLE_QUESTIONS, type ConsoleQuestion } from "../../fixtures/console_questions.ts";
import { freshSchema, inSchema, withPostgres } from "../../fixtures/postgres.ts";
import { postgresStore } from "../../postgres.ts";

const NOW = 1_767_225_600_000;

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly Plans?: readonly PlanNode[];
}

interface Filled {
  readonly url: string;
  drop(): Promise<void>;
}

withPostgres("the plans of PostgreSQL's queries", () => {
  // One for all of them: a hundred thousand executions with three times as many attempts.
  let filled: Promise<Filled> | null = null;
  const fill = async (): Promise<Filled> => {
    const { schema, drop } = await freshSchema();
    const url = inSchema(schema);
    const store = postgresStore({ url });
    await store.migrate();
    await store.close();
    await fillPostgres(url, schema, { executions: 100_000, now: NOW });
    return { url, drop };
  };
  Deno.test.afterAll(async () => await (await filled)?.drop());

  for (const [what, question] of Object.entries(CONSOLE_QUESTIONS)) {
    Deno.test(`postgres: the query for ${what} finds its rows by an index`, async () => {
      const { url } = await (filled ??= fill());
      const nodes = await nodesOf(url, question);
      const reads = nodes.filter((node) => /^saga_(executions|step_attempts)$/.test(node["Relation Name"] ?? ""));
      assert.ok(reads.length > 0, "it reads no table");
      assert.deepEqual(reads.filter((node) => !/Index|Bitmap Heap/.test(node["Node Type"])), []);
    });
  }

  const INDEX_ONLY: readonly (readonly [string, readonly string[]])[] = [
    ["throughput of a day", ["saga_executions_ended", "saga_executions_started"]],
    ["errors of a day", ["saga_step_attempts_failed"]],
    ["failures of a day", ["saga_step_attempts_failed"]],
    ["counts by saga", ["saga_executions_saga"]],
  ];
  for (const [what, indexes] of INDEX_ONLY) {
    Deno.test(`postgres: the query for ${what} counts in the index alone`, async () => {
      const { url } = await (filled ??= fill());
      const nodes = await nodesOf(url, CONSOLE_QUESTIONS[what]!);
      const alone = nodes.filter((node) => node["Node Type"] === "Index Only Scan").map((node) => node["Index Name"]);
      assert.deepEqual([...new Set(alone)].toSorted(), indexes);
    });
  }

  Deno.test("postgres: the query for failures of a step looks at no attempt for its step", async () => {
    const { url } = await (filled ??= fill());
    const nodes = await nodesOf(url, CONSOLE_QUESTIONS["failures of a step"]!);
    const ways = nodes.filter((node) => node["Index Name"] === "saga_step_attempts_failed");
    assert.deepEqual([...new Set(ways.map((node) => node["Node Type"]))], ["Index Only Scan"]);
  });
});

/** How the statements of a question are run, in sessions as a user's pool has them. */
async function nodesOf(url: string, question: ConsoleQuestion): Promise<readonly PlanNode[]> {
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  const statements: { readonly text: string; readonly values: unknown[] }[] = [];
  pool.on("connect", (client: pg.PoolClient) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    (client as { query: unknown }).query = (...args: unknown[]) => {
      const [config] = args as [{ text: string; values: unknown[] }];
      if (typeof config === "object" && /\bsaga_/.test(config.text)) statements.push(config);
      return query(...args);
    };
  });
  const store = postgresStore({ pool });
  try {
    await question(store.queries!, NOW);
    const nodes: PlanNode[] = [];
    for (const { text, values } of [...statements]) {
      const { rows } = await pool.query(`explain (format json) ${text}`, values);
      collect(rows[0]["QUERY PLAN"][0].Plan, nodes);
    }
    return nodes;
  } finally {
    await store.close();
    await pool.end();
  }
}

function collect(node: PlanNode, found: PlanNode[]): void {
  found.push(node);
  for (const child of node.Plans ?? []) collect(child, found);
}
