import assert from "node:assert/strict";
import { BENCHES } from "./options.ts";

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

Deno.test("bench sqlite --quick prints a line with every figure for each measurement", async () => {
  const { success, stdout, stderr } = await bench("sqlite", "--quick", "--n", "100");
  assert.ok(success, stderr);
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => line.bench), BENCHES.map((name) => `sqlite.${name}`));
  for (const line of lines) {
    assert.deepEqual(FIGURES.filter((figure) => !Number.isFinite(line[figure])), [], line.bench);
    assert.equal(line.writesPerExecution, 4, line.bench);
  }
});

Deno.test("bench says how to call it, and what it does not know", async () => {
  const [help, unknown] = [await bench("--help"), await bench("oracle")];
  assert.ok(help.success);
  assert.match(help.stdout, /^Usage: deno task bench sqlite/);
  assert.ok(!unknown.success);
  assert.match(unknown.stderr, /^Cannot measure "oracle"/);
});

Deno.test("bench console prints a line for each question, with its bar", async () => {
  const args = ["--store", "sqlite", "--executions", "2000", "--rounds", "2"];
  const { success, stdout, stderr } = await bench("console", ...args);
  assert.ok(success, stderr);
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.ok(lines.length > 20 && lines.every(({ bench }) => /^console\.sqlite\.[a-z._]+$/.test(bench)), stdout);
  for (const { p50Ms, p95Ms, barMs, isMet } of lines) {
    assert.ok(p50Ms >= 0 && p95Ms >= p50Ms && barMs > 0, stdout);
    assert.equal(isMet, p95Ms <= barMs);
  }
});

async function bench(...args: string[]): Promise<{ success: boolean; stdout: string; stderr: string }> {
  const main = new URL("./main.ts", import.meta.url);
  const child = new Deno.Command(Deno.execPath(), { args: ["run", "--allow-all", "--quiet", main.href, ...args] });
  const { success, stdout, stderr } = await child.output();
  const text = new TextDecoder();
  return { success, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}
