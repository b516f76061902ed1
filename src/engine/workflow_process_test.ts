/** Workflows in a process of their own, which an unhandled rejection would end. */

import assert from "node:assert/strict";

const MOD = new URL("../../mod.ts", import.meta.url).href;
const MEMORY = new URL("../../stores/memory.ts", import.meta.url).href;

/** Runs a program that has `engine`, `run(function)` and the library's names; returns what it wrote. */
async function output(body: string): Promise<readonly string[]> {
  const program = `
    import { Engine, saga, StepFailed, workflow } from ${JSON.stringify(MOD)};
    import { memoryStore } from ${JSON.stringify(MEMORY)};
    const engines = [];
    async function run(name, body, others = []) {
      const definition = workflow(name, body);
      const engine = new Engine({ store: memoryStore(), definitions: [definition, ...others], abortGrace: "50ms" });
      engines.push(engine);
      engine.work();
      const { execution } = await engine.start(definition, { input: {} });
      await engine.wait(execution.id, { signal: AbortSignal.timeout(5_000) })
        .catch(() => {});
      const { status, blockedReason, failure } = await engine.get(execution.id);
      console.log([name, blockedReason ?? status, failure?.message ?? ""].join(": "));
    }
    ${body}
    // Whatever was forgotten has had its time.
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (const engine of engines) await engine.close({ deadline: 0 });
    console.log("alive");
  `;
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--allow-all", `data:application/javascript,${encodeURIComponent(program)}`],
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(60_000),
  });
  const { code, stderr, stdout } = await command.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  assert.equal(code, 0, text(stderr));
  return text(stdout).split("\n");
}

Deno.test("a workflow that calls for steps as it must not blocks, and its process lives on", async () => {
  const lines = await output(`
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    await Promise.all([
      run("all", (flow) => Promise.all(["a", "b", "c"].map(async (name) => { await flow.step(name, () => {}); }))),
      run("forgotten", async (flow) => {
        const step = async (name) => { await flow.step(name, () => {}); };
        void step("a");
        void step("b");
        await step("c");
      }),
      run("later", async (flow) => {
        void (async () => { await pause(20); await flow.step("late", () => {}); })();
        await flow.step("a", () => pause(60));
      }),
      run("nested", async (flow) => {
        await flow.step("a", async () => { await flow.step("b", () => {}); });
      }),
      run("nested and forgotten", async (flow) => {
        await flow.step("a", () => { void (async () => { await flow.step("b", () => {}); })(); });
      }),
      run("sleeps", async (flow) => {
        void flow.sleep("a", 1);
        void flow.sleep("b", 1);
        void flow.call({}, {});
        await flow.sleep("c", 1);
      }),
      run("hooks", (flow) => {
        void (async () => { flow.on("completed"); })();
      }),
    ]);
  `);
  assert.equal(lines.at(-1), "alive");
  const said = new Map(lines.slice(0, -1).map((line) => [line.slice(0, line.indexOf(":")), line]));
  assert.deepEqual([...said.keys()].toSorted(), [
    "all",
    "forgotten",
    "hooks",
    "later",
    "nested",
    "nested and forgotten",
    "sleeps",
  ]);
  for (const [name, line] of said) {
    assert.ok(line.startsWith(`${name}: bug: Cannot run workflow "${name}": `), line);
    if (name !== "hooks") assert.match(line, /was called while "a" was still running; await each call/);
  }
});

Deno.test("a failure that a workflow's function is told of too late ends no process", async () => {
  const lines = await output(`
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    await run("forgotten failure", async (flow) => {
      const step = flow.step("a", ({ fail }) => fail("no"));
      await pause(50);
      await step;
    });
    await run("late wait", async (flow) => {
      const wait = flow.waitFor("a", { timeout: 10 });
      await pause(100);
      await wait;
    });
  `);
  assert.deepEqual(lines, [
    "forgotten failure: failed: no",
    'late wait: failed: No signal "a" arrived in time',
    "alive",
  ]);
});
