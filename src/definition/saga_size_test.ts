import assert from "node:assert/strict";

/** A saga as people write them, with so many steps: each reads what the one before it wrote. */
function sagaSource(steps: number): string {
  const lines = [
    `import { saga } from ${JSON.stringify(import.meta.resolve("./saga.ts"))};`,
    `export const big = saga<{ id: string; cents: number }>("big")`,
  ];
  for (let index = 0; index < steps; index++) {
    const before = index === 0 ? "context.cents" : `context.value_${index - 1}`;
    lines.push(
      `  .step("step_${index}", {`,
      `    run: async ({ context, key }) => ({ key_${index}: key, value_${index}: await Promise.resolve(${before} + 1), list_${index}: [{ id: context.id }] }),`,
      `    undo: ({ written, stepKey }) => written.key_${index} === stepKey,`,
      `  })`,
    );
  }
  lines.push(
    `  .step("last", ({ context }) => { const sum: number = context.value_0 + context.value_${
      steps - 1
    }; return { sum }; });`,
  );
  // A type that had decayed to any on the way would make the check pass for nothing.
  lines.push(`// @ts-expect-error no such key`, `big.step("after", ({ context }) => ({ x: context.value_${steps} }));`);
  return lines.join("\n");
}

Deno.test("a saga of 100 steps type-checks", async () => {
  const dir = await Deno.makeTempDir({ prefix: "leveret-saga-size-" });
  try {
    await Deno.writeTextFile(`${dir}/big.ts`, sagaSource(100));
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const begin = performance.now();
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--no-lock", "--config", config, `${dir}/big.ts`],
      env: { NO_COLOR: "1" },
    }).output();
    console.log(`    100 steps checked in ${((performance.now() - begin) / 1_000).toFixed(1)} s`);
    assert.ok(success, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
