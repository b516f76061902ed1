import assert from "node:assert/strict";

const DEADLINE_MS = 60_000;

/** Runs an example until the test is over. */
async function withExample(
  script: string,
  env: Readonly<Record<string, string>>,
  test: (origin: string) => Promise<void>,
): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", new URL(script, import.meta.url).href],
    env: { PORT: "0", NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(DEADLINE_MS),
  }).spawn();
  const errors = new Response(child.stderr).text();
  try {
    const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let part = await output.read(); !part.done; part = await output.read()) {
      text += part.value;
      if (/Listening on port \d+\n/.test(text)) break;
    }
    const port = /Listening on port (\d+)/.exec(text)?.[1];
    if (port === undefined) throw new Error(await errors);
    await test(`http://127.0.0.1:${port}`);
    await output.cancel();
  } finally {
    child.kill();
    await child.status;
    await errors;
  }
}

/** Everything that a page refers to is there. */
async function checkPage(url: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, { headers });
  const page = await response.text();
  assert.equal(response.status, 200, page);
  const base = new URL(/<base href="([^"]*)"/.exec(page)?.[1] ?? "", response.url);
  for (const [, reference] of page.matchAll(/(?:href|src)="(assets[^"]+)"/g)) {
    const file = await fetch(new URL(reference!, base), { headers });
    assert.equal(file.status, 200, reference);
    await file.body?.cancel();
  }
  return page;
}

Deno.test("examples/console_deno.ts shows the console behind a login, and lets only some act", () =>
  withExample("./console_deno.ts", { CONSOLE_PASSWORD: "secret" }, async (origin) => {
    const stranger = await fetch(`${origin}/workflows`);
    assert.equal(stranger.status, 401);
    await stranger.body?.cancel();
    const as = (user: string) => ({ authorization: `Basic ${btoa(`${user}:secret`)}` });
    assert.match(await checkPage(`${origin}/workflows`, as("guest")), /GREETINGS/);
    assert.match(await checkPage(`${origin}/workflows/executions/greet-1`, as("ann")), /Run again/);
    const act = (user: string) =>
      fetch(`${origin}/workflows/api/executions/greet-1/rerun`, {
        method: "POST",
        headers: { ...as(user), origin, "content-type": "application/json", "x-leveret": "1" },
        body: "{}",
      }).then(async (response) => [response.status, (await response.json()).created]);
    assert.deepEqual(await act("guest"), [403, undefined]);
    assert.deepEqual(await act("ann"), [200, true]);
  }));

Deno.test("examples/console_node.ts shows the console", () =>
  withExample("./console_node.ts", {}, async (origin) => {
    assert.match(await checkPage(`${origin}/`), /Nothing needs you/);
    await checkPage(`${origin}/executions/greet-1`);
  }));

Deno.test("examples/console_express.ts shows the console below a path, with and without the slash", () =>
  withExample("./console_express.ts", {}, async (origin) => {
    assert.match(await checkPage(`${origin}/workflows`), /Nothing needs you/);
    await checkPage(`${origin}/workflows/`);
    await checkPage(`${origin}/workflows/executions/greet-1`);
  }));
