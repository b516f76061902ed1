import assert from "node:assert/strict";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { getRequestListener } from "@hono/node-server";
import { Engine, saga } from "@leveret/saga";
import { memoryStore } from "@leveret/saga/memory";
import { type ConsoleApp, webConsole } from "@leveret/saga/web";
import { Hono } from "hono";

/** Where the console is mounted, by the path that browsers see. */
const PLACES: readonly {
  readonly path: string;
  readonly mount: (app: ConsoleApp) => Hono;
  readonly prefix?: string;
}[] = [
  { path: "", mount: (app) => app },
  { path: "/ops/workflows", mount: (app) => new Hono().route("/ops/workflows", app) },
  { path: "/t/acme/workflows", mount: (app) => new Hono().route("/t/:tenant/workflows", app) },
  { path: "/tools/workflows", mount: (app) => new Hono().route("/workflows", app), prefix: "/tools" },
  { path: "/w", mount: (app) => new Hono().mount("/w", app.fetch) },
];

/** Listens on a port of its own until the test is over. */
async function listening(
  listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
  use: (origin: string) => Promise<void>,
): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  }
}

/** A proxy that takes a prefix away and leaves the name as it was asked for. */
function proxyTo(origin: string, prefix: string) {
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { method, headers, url = "/" } = incoming;
    const asked = request(origin + url.slice(prefix.length), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(asked);
  };
}

/** A page and everything that it refers to; gives the addresses, as a browser resolves them. */
async function checkPage(url: string): Promise<readonly string[]> {
  const response = await fetch(url);
  const page = await response.text();
  assert.equal(response.status, 200, `${url}: ${page.slice(0, 300)}`);
  const base = new URL(/<base href="([^"]*)"/.exec(page)?.[1] ?? "", response.url);
  const references = [...page.matchAll(/(?:href|src)="([^"#]+)"/g)].slice(1).map(([, reference = ""]) => reference);
  const addresses = references.map((reference) => new URL(reference.replaceAll("&amp;", "&"), base).href);
  for (const address of addresses.filter((one) => /assets|executions$|doctor$/.test(one))) {
    const file = await fetch(address);
    assert.equal(file.status, 200, address);
    await file.arrayBuffer();
  }
  return addresses;
}

for (const { path, mount, prefix } of PLACES) {
  test(`the console on Node at ${path || "the root"}${prefix === undefined ? "" : " behind a proxy"}`, async () => {
    const greet = saga<{ name: string }>("greet").step("say", ({ context }) => ({ text: `Hello, ${context.name}` }));
    const engine = new Engine({ store: memoryStore(), definitions: [greet] });
    engine.work();
    await engine.start(greet, { id: "a/b", input: { name: "Ada" } });
    await engine.wait("a/b");
    const app = mount(webConsole(engine, { authorize: () => true }));
    const check = async (origin: string) => {
      const at = `${origin}${path}`;
      // Where mount() takes the path away, only basePath could say where the console is without the slash.
      const starts = path === "" || path === "/w" ? [`${at}/`] : [at, `${at}/`];
      for (const page of [...starts, `${at}/executions`, `${at}/executions/a%2Fb`, `${at}/doctor`]) {
        for (const address of await checkPage(page)) assert.ok(address.startsWith(`${at}/`), `${page}: ${address}`);
      }
      const rerun = (from: string) =>
        fetch(`${at}/api/executions/a%2Fb/rerun`, {
          method: "POST",
          headers: { origin: from, "content-type": "application/json", "x-leveret": "1" },
          body: "{}",
        }).then(async (response) => [response.status, (await response.json()).created]);
      assert.deepEqual(await rerun("https://evil.example"), [403, undefined]);
      assert.deepEqual(await rerun(origin), [200, true]);
    };
    try {
      await listening(
        getRequestListener(app.fetch),
        (inner) => prefix === undefined ? check(inner) : listening(proxyTo(inner, prefix), check),
      );
    } finally {
      await engine.close();
    }
  });
}
