import assert from "node:assert/strict";

const DEADLINE_MS = 60_000;

/** Runs the demo with a temporary folder of its own; returns what it left there, too. */
async function demo(
  args: readonly string[],
  interrupt?: (child: Deno.ChildProcess, text: string) => void,
): Promise<{ code: number; lines: string[]; errors: string; left: string[] }> {
  const dir = await Deno.makeTempDir({ prefix: "leveret-test-" });
  try {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", new URL("./checkout.ts", import.meta.url).href, ...args],
      env: { TMPDIR: dir, TMP: dir },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(DEADLINE_MS),
    }).spawn();
    const errors = new Response(child.stderr).text();
    let text = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      interrupt?.(child, text);
    }
    const { code } = await child.status;
    const left = [...Deno.readDirSync(dir)].map(({ name }) => name);
    return { code, lines: text.split("\n").slice(0, -1), errors: await errors, left };
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("demo shows a success, an undoing, a kill and a signal, and that all promises were kept", async () => {
  const { code, errors, left, lines } = await demo([]);
  assert.equal(code, 0, errors);
  const text = lines.join("\n");
  assert.match(text, /order-1 +completed +5 of 5 done/);
  assert.match(text, /order-2 +compensated +1 of 5 done, 2 undone/);
  assert.match(text, /order-3 +completed +5 of 5 done +6 +worker-1, worker-2/);
  assert.match(text, /order-4 +completed +5 of 5 done/);
  assert.match(text, /worker-1 \(process \d+\) is killed: SIGKILL/);
  assert.match(text, /order-3:charge_card +charge €89\.00 +2 +once/);
  assert.match(text, /order-2:reserve_stock +reserve a lamp +1 +taken back/);
  assert.match(text, /All of it was kept/);
  assert.equal(text.includes("\x1b"), false, "no escapes where there is no terminal");
  assert.deepEqual(left, []);
});

Deno.test("demo --json says the same as lines of JSON", async () => {
  const { code, errors, left, lines } = await demo(["--json"]);
  assert.equal(code, 0, errors);
  const all = lines.map((line) => JSON.parse(line));
  const of = (type: string) => all.filter((line) => line.type === type);
  assert.deepEqual(
    of("execution").map(({ executionId, status }) => [executionId, status]),
    [["order-1", "completed"], ["order-2", "compensated"], ["order-3", "completed"], ["order-4", "completed"]],
  );
  const charge = { type: "effect", key: "order-3:charge_card", effect: "charge €89.00", effects: 1, asked: 2 };
  assert.deepEqual(
    of("effect").filter(({ key }) => key === charge.key),
    [{ ...charge, undone: false, workers: ["worker-1", "worker-2"] }],
  );
  assert.deepEqual(
    of("execution")[2].attempts
      .filter(({ step }: { step: string }) => step === "charge_card")
      .map(({ attempt, status, worker }: Record<string, unknown>) => [attempt, status, worker]),
    [[1, "abandoned", "worker-1"], [2, "succeeded", "worker-2"]],
  );
  assert.deepEqual(of("worker").map(({ worker, state }) => `${worker} ${state}`), [
    "worker-1 started",
    "worker-1 killed",
    "worker-2 started",
    "worker-2 stopped",
  ]);
  assert.equal(of("event").some(({ event }) => event === "saga.step.abandoned"), true);
  assert.equal(of("check").every(({ ok }) => ok === true), true);
  assert.deepEqual([all.at(-1).type, all.at(-1).ok], ["result", true]);
  assert.deepEqual(left, []);
});

Deno.test("demo leaves nothing behind when it is interrupted", async () => {
  let sent = false;
  const { code, left } = await demo([], (child, text) => {
    if (sent || !text.includes("✓ reserve_stock")) return;
    sent = true;
    child.kill("SIGINT");
  });
  assert.equal(code, 130);
  assert.deepEqual(left, []);
});

Deno.test("demo refuses options that it does not have, and explains itself", async () => {
  const refused = await demo(["--jsn"]);
  assert.equal(refused.code, 2);
  assert.match(refused.errors, /There is no option "--jsn"/);
  const help = await demo(["--help"]);
  assert.equal(help.code, 0);
  assert.match(help.lines[0] ?? "", /^Usage: deno task demo/);
});
