import assert from "node:assert/strict";
import { hasBroker } from "../exchanges/fixtures/broker.ts";
import { withMysql } from "../stores/fixtures/mysql.ts";
import { withPostgres } from "../stores/fixtures/postgres.ts";
import { benchesOf, type SubjectName } from "./options.ts";

/** What every line has, as a number. */
const FIGURES = [
  "n",
  "executionsPerSecond",
  "floorExecutionsPerSecond",
  "p50Ms",
  "p95Ms",
  "p99Ms",
  "floorP50Ms",
  "commitsPerExecution",
  "writesPerExecution",
  "peakRssMb",
];

/** What the lines of a server have, too, and the floors beside them. */
const SERVER_FIGURES = [
  "statementsPerExecution",
  "roundTripsPerExecution",
  "floorStatementsPerExecution",
  "floorRoundTripsPerExecution",
];

Deno.test("bench sqlite --quick prints a line with every figure for each measurement", async () => {
  for (const line of await linesOf("sqlite", FIGURES)) assert.equal(line.writesPerExecution, 4, String(line.bench));
});

withPostgres("bench postgres --quick", () => {
  Deno.test("bench postgres --quick prints a line with every figure for each measurement", async () => {
    const figures = [...FIGURES, ...SERVER_FIGURES, "walBytesPerExecution", "floorWalBytesPerExecution"];
    const lines = await linesOf("postgres", figures);
    for (const line of lines) assert.equal(line.writesPerExecution, 4, String(line.bench));
    assert.deepEqual(statementsOfLone(lines), { engine: 4, floor: 4 });
    assert.equal(typeof lines.find(({ bench }) => bench === "postgres.idle")?.idleStatementsPerSecond, "number");
  });
});

withMysql("bench mysql --quick", () => {
  Deno.test("bench mysql --quick prints a line with every figure for each measurement", async () => {
    const lines = await linesOf("mysql", [...FIGURES, ...SERVER_FIGURES, "redoBytesPerExecution"]);
    for (const line of lines) assert.equal(line.writesPerExecution, 4, String(line.bench));
    // begin, update, insert and commit for each step, and the insert at the start
    assert.deepEqual(statementsOfLone(lines), { engine: 16, floor: 13 });
  });
});

const isBrokerThere = await hasBroker("bench amqp --quick");

withPostgres("bench amqp --quick", () => {
  if (!isBrokerThere) return;
  Deno.test("bench amqp --quick prints a line with every figure for each measurement", async () => {
    const lines = await linesOf("amqp", [...FIGURES, ...SERVER_FIGURES]);
    const throughput = lines.find(({ bench }) => bench === "amqp.throughput");
    // What another one opens than the one that starts it costs a write more.
    assert.deepEqual(
      ["writesPerExecution", "localWritesPerExecution", "singleWritesPerExecution"].map((name) => throughput?.[name]),
      [5, 5, 4],
    );
  });
});

Deno.test("bench says how to call it, and what it does not know", async () => {
  const [help, unknown] = [await bench("--help"), await bench("oracle")];
  assert.ok(help.success);
  assert.match(help.stdout, /^Usage: deno task bench sqlite\|postgres\|mysql\|amqp/);
  assert.ok(!unknown.success);
  assert.match(unknown.stderr, /^Cannot measure "oracle"/);
});

withPostgres("bench workflow", () => {
  Deno.test("bench workflow takes long workflows up on SQLite and PostgreSQL, and prints a line for each", async () => {
    const { success, stdout, stderr } = await bench("workflow", "--steps", "50", "--rounds=2");
    assert.ok(success, stderr);
    const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(({ bench, steps }) => [bench, steps]), [["workflow.sqlite", 50], [
      "workflow.postgres",
      50,
    ]]);
    for (const { bars, resumeP50Ms } of lines) assert.ok(resumeP50Ms > 0 && Object.keys(bars).length === 2);
    const wrong = await bench("workflow", "--steps=0");
    assert.match(wrong.stderr, /^--steps is 0; use a whole number from 1 on/);
  });
});

Deno.test("bench console prints a line for each question, with its bar", async () => {
  const args = ["--store", "sqlite", "--executions", "2000", "--rounds", "1"];
  const { success, stdout, stderr } = await bench("console", ...args);
  assert.ok(success, stderr);
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.ok(lines.length > 20 && lines.every(({ bench }) => /^console\.sqlite\.[a-z0-9._]+$/.test(bench)), stdout);
  for (const { bar, barBytes, barMs, bytes, isMet, p50Ms, p95Ms, value } of lines) {
    if (bar !== undefined) assert.ok(value >= 0 && isMet === (value <= bar), stdout);
    else if (barBytes !== undefined) assert.equal(isMet, bytes <= barBytes);
    else assert.ok(p50Ms >= 0 && p95Ms >= p50Ms && barMs > 0 && isMet === (p95Ms <= barMs), stdout);
  }
});

type Line = Readonly<Record<string, unknown>>;

/** Runs all measurements; each must have these figures, as numbers. */
async function linesOf(subject: SubjectName, figures: readonly string[]): Promise<readonly Line[]> {
  const { success, stdout, stderr } = await bench(subject, "--quick", "--n", "100");
  assert.ok(success, stderr);
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line) as Line);
  assert.deepEqual(lines.map((line) => line.bench), benchesOf(subject).map((name) => `${subject}.${name}`));
  for (const line of lines) {
    assert.deepEqual(figures.filter((figure) => !Number.isFinite(line[figure])), [], String(line.bench));
  }
  return lines;
}

function statementsOfLone(lines: readonly Line[]): { readonly engine: unknown; readonly floor: unknown } {
  const line = lines.find(({ bench }) => String(bench).endsWith(".lone"));
  return { engine: line?.statementsPerExecution, floor: line?.floorStatementsPerExecution };
}

async function bench(...args: string[]): Promise<{ success: boolean; stdout: string; stderr: string }> {
  const main = new URL("./main.ts", import.meta.url);
  const child = new Deno.Command(Deno.execPath(), { args: ["run", "--allow-all", "--quiet", main.href, ...args] });
  const { success, stdout, stderr } = await child.output();
  const text = new TextDecoder();
  return { success, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}
