import assert from "node:assert/strict";
import { webConsole } from "../web/mod.ts";
import type { MapModel } from "../web/view/model.ts";
import { settingsOf } from "./web_demo/settings.ts";
import { makeWorld } from "./web_demo/world.ts";

async function mapOf(isHeavy: boolean): Promise<{ map: MapModel; text: string }> {
  const world = await makeWorld({ days: 2, isHeavy, now: Date.UTC(2026, 0, 31, 12), executions: 300 });
  try {
    const app = webConsole(world.engine, { authorize: () => true });
    const map: MapModel = await (await app.request("/map.json")).json();
    return { map, text: await (await app.request("/map.txt")).text() };
  } finally {
    await world.close();
  }
}

Deno.test("web-demo makes a week by the engine: all sagas, some that move, sleep and wait", async () => {
  const { map } = await mapOf(false);
  assert.equal(map.now, Date.UTC(2026, 0, 31, 12));
  assert.deepEqual(map.lines.map(({ saga }) => saga).sort(), [
    "billing.invoice",
    "hooks.deliver",
    "orders.checkout",
    "orders.refund",
    "trips.book",
    "users.sign_up",
  ]);
  assert.ok(map.counts.moving > 0 && map.counts.pausing > 0);
  assert.equal(map.counts.stalled, 0);
});

Deno.test("web-demo with HEAVY=1 is a bad day: thousands of failures, a crowd on one step, hundreds stalled", async () => {
  const { map, text } = await mapOf(true);
  const step = map.lines.find(({ saga }) => saga === "orders.checkout")!.steps.find(({ name }) =>
    name === "charge_card"
  )!;
  assert.ok(step.failed > 2_000, `${step.failed} failed`);
  assert.ok(map.counts.stalled > 200, `${map.counts.stalled} stalled`);
  assert.ok(Math.max(...map.lines.flatMap(({ steps }) => steps.map(({ running }) => running))) > 100);
  assert.match(text, /^Needs you: orders\.checkout fail(s|ed) at charge_card/);
  assert.match(text, /No worker on partition batch/);
});

Deno.test("web-demo serves the console where PORT and HOST say", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", new URL("./web_demo.ts", import.meta.url).href],
    env: { PORT: "0", HOST: "127.0.0.1", DAYS: "1", NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    signal: AbortSignal.timeout(60_000),
  }).spawn();
  try {
    const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value = "" } = await output.read();
    const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(value)?.[0];
    assert.ok(origin, value);
    assert.match(await (await fetch(origin)).text(), /orders\.checkout/);
    await output.cancel();
  } finally {
    child.kill();
    await child.status;
  }
});

Deno.test("web-demo says what is wrong with its environment, and what there is", () => {
  const read = (env: Readonly<Record<string, string>>) => settingsOf((name) => env[name]);
  assert.deepEqual(read({}), { hostname: "127.0.0.1", port: 9_292, days: 7, isHeavy: false });
  assert.deepEqual(read({ PORT: "0", HOST: "0.0.0.0", DAYS: "1", HEAVY: "1" }), {
    hostname: "0.0.0.0",
    port: 0,
    days: 1,
    isHeavy: true,
  });
  for (const [name, value] of [["PORT", "abc"], ["PORT", "99999"], ["DAYS", "0"], ["DAYS", "-1"], ["HEAVY", "yes"]]) {
    assert.match(String(read({ [name!]: value! })), new RegExp(`^Cannot start: ${name} is "${value}"; use `));
  }
});
