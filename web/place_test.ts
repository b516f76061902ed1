import assert from "node:assert/strict";
import { Hono } from "hono";
import { inWorld } from "./fixtures/world.ts";

/** Where a page's references lead, as a browser resolves them: the base against the page, the reference against that. */
async function resolved(
  app: Hono,
  url: string,
  seenAs: string = url,
): Promise<{ page: string; urls: readonly string[] }> {
  let response = await app.request(url);
  let address = new URL(seenAs);
  if (response.status === 302) {
    address = new URL(response.headers.get("location")!, address);
    const inner = new URL(response.headers.get("location")!, url);
    response = await app.request(inner.href);
  }
  assert.equal(response.status, 200, url);
  const page = await response.text();
  const base = new URL(/<base href="([^"]*)"/.exec(page)![1]!, address);
  const references = [...page.matchAll(/(?:href|src)="([^"#]+)"/g)].map((match) => match[1]!.replaceAll("&amp;", "&"));
  return { page, urls: references.slice(1).map((reference) => new URL(reference, base).href) };
}

const PATHS = [
  "/",
  "/executions",
  "/executions/o-1",
  "/executions/a%2Fb",
  "/executions/o-1/terminate",
  "/doctor",
  "/executions/",
];

async function checkAll(
  app: Hono,
  { mount, seen = mount }: { readonly mount: string; readonly seen?: string },
): Promise<void> {
  for (const path of PATHS) {
    const { urls } = await resolved(app, `http://localhost${mount}${path}`, `http://localhost${seen}${path}`);
    assert.ok(urls.length > 5);
    for (const url of urls) assert.ok(url.startsWith(`http://localhost${seen}/`), `${mount}${path}: ${url}`);
    // What the page refers to is there; through the prefix that the proxy takes away again.
    for (const url of urls.filter((one) => /assets|executions$|doctor$/.test(one))) {
      const inner = mount + new URL(url).pathname.slice(seen.length);
      assert.equal((await app.request(inner)).status, 200, url);
    }
  }
}

Deno.test("webConsole() works at the root", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    await world.start("a/b");
    await checkAll(world.console(), { mount: "" });
  }));

Deno.test("webConsole() works under route(), with and without the slash", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    await world.start("a/b");
    const app = new Hono().use("*", (_context, next) => next()).route("/ops/workflows", world.console());
    await checkAll(app, { mount: "/ops/workflows" });
    const bare = await app.request("http://localhost/ops/workflows?range=7d");
    assert.equal(bare.status, 302);
    assert.equal(bare.headers.get("location"), "workflows/?range=7d");
    await resolved(app, "http://localhost/ops/workflows");
  }));

Deno.test("webConsole() works under a path parameter", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    await world.start("a/b");
    await checkAll(new Hono().route("/t/:tenant/workflows", world.console()), { mount: "/t/acme/workflows" });
  }));

Deno.test("webConsole() works under mount(); where the slash is missing, basePath says where it is", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    await world.start("a/b");
    await checkAll(new Hono().mount("/w", world.console().fetch), { mount: "/w" });
    const told = new Hono().mount("/w", world.console({ basePath: "/w" }).fetch);
    await checkAll(told, { mount: "/w" });
    const { urls } = await resolved(told, "http://localhost/w");
    for (const url of urls) assert.ok(url.startsWith("http://localhost/w/"), url);
  }));

Deno.test("webConsole() works behind a proxy that takes a prefix away", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    await world.start("a/b");
    const app = new Hono().route("/workflows", world.console());
    await checkAll(app, { mount: "/workflows", seen: "/tools/workflows" });
    const { urls } = await resolved(app, "http://localhost/workflows", "http://localhost/tools/workflows");
    for (const url of urls) assert.ok(url.startsWith("http://localhost/tools/workflows/"), url);
  }));
