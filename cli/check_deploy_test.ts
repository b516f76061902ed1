import assert from "node:assert/strict";
import { saga } from "../src/definition/saga.ts";
import { workflow } from "../src/definition/workflow.ts";
import { Engine } from "../src/engine/engine.ts";
import { sqliteStore } from "../stores/sqlite.ts";

async function leveret(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const { code, stderr, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "cli/main.ts", ...args],
    stdin: "null",
    env: { NO_COLOR: "1", DATABASE_URL: "" },
  }).output();
  return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}

/** A file with executions that wait in the middle of old definitions, and a module with new ones. */
async function deploy(definitions: string, use: (store: string, module: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const order = saga("order").step("reserve", () => ({ a: 1 })).waitFor("paid").step("ship", () => {});
    const signUp = workflow("sign_up", async (flow) => {
      await flow.step("reserve_name", () => "ada");
      await flow.waitFor("confirmed");
    });
    const store = sqliteStore({ path: `${folder}/sagas.sqlite` });
    const engine = new Engine({ store, definitions: [order, signUp] });
    const worker = engine.work();
    for (const id of ["o1", "o2"]) await engine.start(order, { id, input: {} });
    for (const id of ["s1", "s2", "s3"]) await engine.start(signUp, { id, input: {} });
    for (const id of ["o1", "o2", "s1", "s2", "s3"]) {
      while ((await engine.get(id))?.waitingFor === null) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await worker.stop();
    await engine.close();
    await store.close();
    const module = `${folder}/definitions.ts`;
    const main = new URL("../mod.ts", import.meta.url).href;
    await Deno.writeTextFile(module, `import { saga, workflow } from ${JSON.stringify(main)};\n${definitions}`);
    await use(`sqlite:${folder}/sagas.sqlite`, module);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const FITTING = `
export const order = saga("order").step("reserve", () => ({ a: 1 })).waitFor("paid").step("ship", () => {});
export const signUp = workflow("sign_up", async (flow) => {
  await flow.step("reserve_name", () => { throw new Error("code of a step was run"); });
  await flow.waitFor("confirmed");
  await flow.step("appended", () => 1);
});`;

const CHANGED = `
export const definitions = [workflow("sign_up", async (flow) => {
  await flow.step("pick_name", () => "ada");
  await flow.waitFor("confirmed");
})];`;

Deno.test("check-deploy finds nothing where the definitions fit, and runs the code of no step", async () => {
  await deploy(FITTING, async (store, module) => {
    const { code, err, out } = await leveret("check-deploy", "--store", store, "--definitions", module);
    assert.equal(err, "");
    assert.equal(out.trim(), "5 unfinished executions looked at: none would be blocked");
    assert.equal(code, 0);
  });
});

Deno.test("check-deploy lists what would be blocked, at which step and how many, and exits with 1", async () => {
  await deploy(CHANGED, async (store, module) => {
    const { code, out } = await leveret("check-deploy", "--store", store, "--definitions", module, "--json");
    assert.equal(code, 1);
    const { checked, ok, problems } = JSON.parse(out);
    assert.deepEqual({ checked, ok }, { checked: 5, ok: false });
    assert.deepEqual(
      problems.map(({ message: _, ...problem }: { message: string }) => problem),
      [
        {
          name: "sign_up",
          version: 1,
          step: "confirmed",
          reason: "recipe_changed",
          executions: 3,
          examples: ["s1", "s2", "s3"],
        },
        {
          name: "order",
          version: 1,
          step: "paid",
          reason: "definition_missing",
          executions: 2,
          examples: ["o1", "o2"],
        },
      ],
    );
    assert.match(problems[0].message, /"reserve_name" \(step\) at position 0, and the function reaches "pick_name"/);
    const text = await leveret("check-deploy", "--store", store, "--definitions", module);
    assert.match(text.out, /^5 unfinished executions looked at: 5 would be blocked\n\n3 {2}sign_up v1 at "confirmed"/);
    const engine = sqliteStore({ path: store.slice("sqlite:".length) });
    const [record] = await engine.load(["s1"]);
    assert.deepEqual([record?.execution.status, record?.execution.waitingFor], ["running", "confirmed"]);
    await engine.close();
  });
});

Deno.test("leveret says what is wrong with its arguments, and exits with 2", async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["check-deploi"], /there is no such command/],
    [["check-deploy"], /--definitions is missing|--store is/],
    [["check-deploy", "--store", "oracle://x", "--definitions", "mod.ts"], /exports none|--store is "oracle/],
    [["check-deploy", "--store", "sqlite:x", "--definitions", "no_such.ts"], /no_such\.ts cannot be loaded/],
    [["check-deploy", "--nonsense"], /nonsense/],
    [
      ["check-deploy", "--store", "sqlite:no_such.sqlite", "--definitions", "examples/checkout_saga.ts"],
      /--store: there is no file "no_such\.sqlite"/,
    ],
  ];
  for (const [args, expected] of cases) {
    const { code, err } = await leveret(...args);
    assert.match(err, expected);
    assert.equal(code, 2);
  }
  for (const args of [["--help"], ["check-deploy", "--help"]]) {
    const { code, out } = await leveret(...args);
    assert.match(out, /leveret/);
    assert.equal(code, 0);
  }
});
