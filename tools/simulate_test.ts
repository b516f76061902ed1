import assert from "node:assert/strict";
import { run } from "./process.ts";

function simulateTask(...args: readonly string[]) {
  return run(Deno.execPath(), ["run", "--no-prompt", "--allow-read", "tools/simulate.ts", ...args], { capture: true });
}

Deno.test("deno task simulate ends with the counts", async () => {
  const { ok, output } = await simulateTask("--runs", "30", "--threads", "2");
  assert.deepEqual([ok, output.trimEnd().split("\n").at(-1)], [true, "30 runs, 0 violations"]);
});

Deno.test("deno task simulate --json writes nothing but JSON lines", async () => {
  const { ok, output } = await simulateTask("--runs", "3", "--threads", "1", "--json");
  const lines = output.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual([ok, lines.map(({ runs, violations }) => ({ runs, violations }))], [true, [{
    runs: 3,
    violations: 0,
  }]]);
});

Deno.test("deno task simulate --seed shows one run, and with --history what happened in it", async () => {
  const { ok, output } = await simulateTask("--seed", "7", "--history", "--storm", "30s");
  assert.ok(ok);
  assert.match(output, /^seed 7: no violation \(.*\)\n +0\.000 {2}web +begins/);
  assert.match(output, /\n1 runs, 0 violations\n$/);
});

Deno.test("deno task simulate refuses what it does not understand, and says what there is", async () => {
  for (const args of [["--runs", "many"], ["--sede", "7"]]) {
    const { ok, output } = await simulateTask(...args);
    assert.equal(ok, false);
    assert.match(output, /Usage: deno task simulate/);
  }
});
