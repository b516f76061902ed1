import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { test } from "node:test";

/** Runs an example and gives its origin to the test. */
async function withExample(script: string, use: (origin: string) => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const listen = (chunk: unknown) => {
    text += String(chunk);
    const port = /Listening on port (\d+)\n/.exec(text)?.[1];
    if (port !== undefined) resolve(port);
  };
  child.stdout.on("data", listen);
  child.stderr.on("data", listen);
  child.on("exit", () => reject(new Error(text)));
  try {
    await use(`http://127.0.0.1:${await promise}`);
  } finally {
    child.kill();
  }
}

/** The page, with everything that it refers to. */
async function checkPage(url: string): Promise<string> {
  const response = await fetch(url);
  const page = await response.text();
  assert.equal(response.status, 200, page);
  const base = new URL(/<base href="([^"]*)"/.exec(page)?.[1] ?? "", response.url);
  for (const [, reference] of page.matchAll(/(?:href|src)="(assets[^"]+)"/g)) {
    const file = await fetch(new URL(reference ?? "", base));
    assert.equal(file.status, 200, reference);
    await file.arrayBuffer();
  }
  return page;
}

test(
  "the console on @hono/node-server",
  { timeout: 60_000 },
  () =>
    withExample("examples/console_node.ts", async (origin) => {
      assert.match(await checkPage(`${origin}/`), /Nothing needs you/);
      assert.match(await checkPage(`${origin}/executions/greet-1`), /Hello, Ada/);
      const refused = await fetch(`${origin}/api/executions/greet-1/rerun`, { method: "POST", body: "{}" });
      assert.equal(refused.status, 403);
    }),
);

test(
  "the console in Express, with and without the slash",
  { timeout: 60_000 },
  () =>
    withExample("examples/console_express.ts", async (origin) => {
      assert.match(await checkPage(`${origin}/workflows`), /Nothing needs you/);
      assert.match(await checkPage(`${origin}/workflows/executions`), /greet-1/);
    }),
);
