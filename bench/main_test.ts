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

async function bench(...args: string[]): Promise<{ success: boolean; stdout: string; stderr: string }> {
  const main = new URL("./main.ts", import.meta.url);
  const child = new Deno.Command(Deno.execPath(), { args: ["run", "--allow-all", "--quiet", main.href, ...args] });
  const { success, stdout, stderr } = await child.output();
  const text = new TextDecoder();
  return { success, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}
