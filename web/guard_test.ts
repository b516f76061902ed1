/** Each request against the console that has gone wrong somewhere. */

import assert from "node:assert/strict";
import { NonRetryable } from "../mod.ts";
import { memoryStore } from "../stores/memory.ts";
import { Engine } from "../mod.ts";
import { ASSETS_DIGEST } from "./generated/assets.ts";
import { webConsole } from "./mod.ts";
import { inWorld, posted, type TestWorld } from "./fixtures/world.ts";

const RETRY = "/api/executions/o-1/retry";

async function failed(world: TestWorld): Promise<void> {
  world.reserve = () => {
    throw new NonRetryable("no");
  };
  await world.start("o-1");
  world.reserve = () => ({ reservation: "R-1" });
}

const REFUSED: readonly {
  readonly what: string;
  readonly path?: string;
  readonly init: RequestInit;
  readonly status: number;
}[] = [
  { what: "cross-origin, with all headers", init: posted({}, { origin: "https://evil.example" }), status: 403 },
  { what: "another site, by Sec-Fetch-Site", init: posted({}, { "sec-fetch-site": "cross-site" }), status: 403 },
  { what: "a sibling site", init: posted({}, { "sec-fetch-site": "same-site" }), status: 403 },
  {
    what: "no site at all, as typed into the address bar",
    init: posted({}, { "sec-fetch-site": "none" }),
    status: 403,
  },
  { what: "the same host at another port", init: posted({}, { origin: "http://localhost:8080" }), status: 403 },
  {
    what: "a foreign Origin beside a Referer of one's own",
    init: posted({}, { origin: "https://evil.example", referer: "http://localhost/x" }),
    status: 403,
  },
  { what: "JSON of another kind", init: posted({}, { "content-type": "application/json-patch+json" }), status: 415 },
  { what: "files of a form", init: posted("x", { "content-type": "multipart/form-data; boundary=x" }), status: 415 },
  { what: "an opaque origin", init: posted({}, { origin: "null" }), status: 403 },
  { what: "the same host over another scheme", init: posted({}, { origin: "https://localhost" }), status: 403 },
  { what: "neither Origin nor Referer", init: posted({}, { origin: null }), status: 403 },
  { what: "a foreign Referer", init: posted({}, { origin: null, referer: "https://evil.example/x" }), status: 403 },
  { what: "a Referer that is none", init: posted({}, { origin: null, referer: "x" }), status: 403 },
  { what: "text/plain", init: posted("{}", { "content-type": "text/plain" }), status: 415 },
  { what: "a form", init: posted("a=1", { "content-type": "application/x-www-form-urlencoded" }), status: 415 },
  {
    what: "no content type",
    init: { ...posted(undefined, { "content-type": null }), body: new Uint8Array(2) },
    status: 415,
  },
  { what: "no X-Leveret", init: posted({}, { "x-leveret": null }), status: 403 },
  { what: "another X-Leveret", init: posted({}, { "x-leveret": "2" }), status: 403 },
  { what: "a body that is no JSON", init: posted("{bad"), status: 400 },
  { what: "an empty body", init: posted(""), status: 400 },
  { what: "a list", init: posted("[]"), status: 400 },
  { what: "null", init: posted("null"), status: 400 },
  { what: "100,000 levels", init: posted(`{"reason":${"[".repeat(100_000)}${"]".repeat(100_000)}}`), status: 400 },
  { what: "50 MB", init: posted(`{"reason":"${"x".repeat(50_000_000)}"}`), status: 413 },
  { what: "an unknown field", init: posted({ force: true }), status: 400 },
  { what: "a reason that is no text", init: posted({ reason: 3 }), status: 400 },
  { what: "an epoch that is none", init: posted({ epoch: 1.5 }), status: 400 },
  { what: "an unknown id", path: "/api/executions/nobody/retry", init: posted(), status: 404 },
  { what: "an unknown action", path: "/api/executions/o-1/destroy", init: posted(), status: 404 },
  { what: "GET on an action", init: {}, status: 405 },
  { what: "PUT on an action", init: { ...posted(), method: "PUT" }, status: 405 },
  {
    what: "a signal whose payload is nested too deep",
    path: "/api/executions/o-2/signal",
    init: posted(
      `{"name":"settled","payload":${"[".repeat(200)}${"]".repeat(200)}}`,
    ),
    status: 400,
  },
  {
    what: "a signal whose payload has 100,000 levels",
    path: "/api/executions/o-2/signal",
    init: posted(`{"name":"settled","payload":${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
    status: 400,
  },
  { what: "a key that is no own one", init: posted('{"__proto__":{"epoch":1}}'), status: 400 },
  { what: "HEAD on an action", init: { method: "HEAD" }, status: 405 },
  { what: "DELETE on an action", init: { ...posted(), method: "DELETE" }, status: 405 },
  {
    what: "what browsers ask before they send to another origin",
    init: {
      method: "OPTIONS",
      headers: {
        origin: "https://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-leveret",
      },
    },
    status: 403,
  },
  { what: "a post to a page", path: "/executions/o-1", init: posted(), status: 404 },
  { what: "a signal without a name", path: "/api/executions/o-2/signal", init: posted({}), status: 400 },
];

Deno.test("webConsole() refuses what another site could send, and what makes no sense", () =>
  inWorld(async (world) => {
    await failed(world);
    await world.start("o-2");
    const app = world.console();
    for (const { what, path = RETRY, init, status } of REFUSED) {
      const response = await app.request(path, init);
      const body = await response.text();
      assert.equal(response.status, status, `${what}: ${body.slice(0, 200)}`);
      assert.equal(response.headers.get("access-control-allow-origin"), null, what);
      assert.equal(response.headers.get("cache-control"), "no-store", what);
      if (init.method !== "HEAD" && path.startsWith("/api/")) assert.ok(JSON.parse(body).error.length > 0, what);
    }
    assert.equal((await world.engine.get("o-1"))?.status, "failed");
    assert.deepEqual(await world.engine.operations("o-1"), []);
  }));

Deno.test("webConsole() stops reading a body that is too large, whatever its length says", () =>
  inWorld(async (world) => {
    await failed(world);
    let given = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        given += 65_536;
        if (given > 100_000_000) controller.close();
        else controller.enqueue(new Uint8Array(65_536));
      },
    });
    const response = await world.console().request(new Request(`http://localhost${RETRY}`, { ...posted(), body }));
    assert.equal(response.status, 413);
    assert.ok(given < 3_000_000, `${given} bytes were read`);
  }));

Deno.test("webConsole() takes the origin that it is told to have, by Origin or by Referer", () =>
  inWorld(async (world) => {
    await failed(world);
    const app = world.console({ origin: "https://ops.example.org" });
    assert.equal((await app.request(RETRY, posted())).status, 403);
    const referer = { origin: null, referer: "https://ops.example.org/workflows/executions/o-1" };
    assert.equal((await app.request(RETRY, posted({}, referer))).status, 200);
  }));

Deno.test("webConsole() retries once: of two at once the second is told of the first", () =>
  inWorld(async (world) => {
    await failed(world);
    const app = world.console();
    const { epoch } = (await world.engine.get("o-1"))!;
    const answers = await Promise.all(
      [1, 2].map(() => app.request(RETRY, posted({ epoch, reason: "card was topped up" }))),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    const refused = await answers.find(({ status }) => status === 409)!.json();
    assert.match(refused.error, /somebody else was faster|is running/);
    const [operation, ...more] = await world.engine.operations("o-1");
    assert.deepEqual(more, []);
    assert.deepEqual(
      [operation?.action, operation?.actor, operation?.reason],
      ["retry", "ann", "card was topped up"],
    );
  }));

Deno.test("webConsole() refuses every action when it is read-only, and shows no button", () =>
  inWorld(async (world) => {
    await failed(world);
    const app = world.console({ readOnly: true });
    for (const action of ["retry", "compensate", "skip", "terminate", "signal", "rerun"]) {
      assert.equal((await app.request(`/api/executions/o-1/${action}`, posted({ name: "x" }))).status, 403, action);
    }
    const page = await (await app.request("/executions/o-1")).text();
    assert.doesNotMatch(page, /executions\/o-1\/(retry|compensate|terminate|rerun)/);
    assert.match(page, /Read only/);
  }));

Deno.test("authorize() is asked for each action, and the button of what it refuses is not there", () =>
  inWorld(async (world) => {
    await failed(world);
    const asked: string[] = [];
    const app = world.console({
      authorize: (_request, action) => {
        asked.push(action);
        return action === "read" || action === "retry";
      },
    });
    const page = await (await app.request("/executions/o-1")).text();
    assert.ok(page.includes("executions/o-1/retry"));
    assert.ok(!page.includes("executions/o-1/rerun"));
    assert.equal((await app.request("/api/executions/o-1/rerun", posted())).status, 403);
    assert.equal((await app.request(RETRY, posted())).status, 200);
    assert.deepEqual(new Set(asked), new Set(["read", "retry", "compensate", "skip", "terminate", "signal", "rerun"]));
  }));

Deno.test("authorize() comes before any access to the store, for pages, files and data alike", () =>
  inWorld(async (world) => {
    await failed(world);
    const calls: string[] = [];
    const store = new Proxy(world.store, {
      get(target, key) {
        if (key !== "queries") calls.push(String(key));
        const value = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const engine = new Engine({ store, definitions: [world.saga], clock: world.clock });
    const app = webConsole(engine, { authorize: () => false });
    calls.length = 0;
    const bodies = new Set<string>();
    const paths = [
      "/",
      "/executions",
      "/executions/o-1",
      "/executions/nobody",
      "/api/recent?since=0",
      "/api/executions/o-1",
      "/api/executions/nobody",
      `/assets/${ASSETS_DIGEST}/console.js`,
      "/doctor",
      "/nothing",
      "/map.txt",
      "/executions/o-1/retry",
    ];
    for (const path of paths) {
      const response = await app.request(path);
      assert.equal(response.status, 403, path);
      bodies.add(`${await response.text()} ${JSON.stringify([...response.headers])}`);
    }
    assert.equal((await app.request(RETRY, posted())).status, 403);
    assert.equal(bodies.size, 1, "the answer tells whether something is there");
    assert.deepEqual(calls, []);
    await engine.close();
  }));

Deno.test("authorize() that throws answers 500 without what it threw, on pages, data and actions", () =>
  inWorld(async (world) => {
    await failed(world);
    const logged: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (text: string) => void logged.push(text) };
    const app = world.console({
      logger,
      authorize: () => {
        throw new Error("ldap://10.0.0.7 says no");
      },
    });
    for (
      const [path, init] of [["/", { headers: { accept: "text/html" } }], ["/api/map", {}], [RETRY, posted()]] as const
    ) {
      const response = await app.request(path, init);
      assert.equal(response.status, 500, path);
      assert.doesNotMatch(await response.text(), /ldap|10\.0/);
    }
    assert.equal(logged.filter((line) => line.includes("ldap")).length, 3);
    assert.equal((await world.engine.get("o-1"))?.status, "failed");
  }));

Deno.test("authorize() has to answer true: what is merely truthy is a mistake", () =>
  inWorld(async (world) => {
    const app = world.console({ authorize: () => "false" as unknown as boolean });
    assert.equal((await app.request("/")).status, 403);
  }));

Deno.test("webConsole() without authorize can be read from this machine only, and nothing can be done", () =>
  inWorld(async (world) => {
    await failed(world);
    const app = webConsole(world.engine);
    const from = (hostname: string) => ({ remoteAddr: { hostname, port: 1, transport: "tcp" } });
    const status = async (url: string, env?: object, headers: Record<string, string> = {}) =>
      (await app.request(url, { headers }, env)).status;
    assert.equal(await status("http://localhost/", from("127.0.0.1")), 200);
    assert.equal(await status("http://[::1]/", from("::1")), 200);
    assert.equal(
      await status("http://localhost/", { incoming: { socket: { remoteAddress: "::ffff:127.0.0.1" } } }),
      200,
    );
    assert.equal(await status("http://localhost/", from("192.168.1.9")), 403);
    assert.equal(await status("http://localhost/"), 403, "nobody knows who asks");
    assert.equal(await status("http://rebound.example/", from("127.0.0.1")), 403);
    assert.equal(await status("http://localhost/", from("127.0.0.1"), { "x-forwarded-for": "203.0.113.9" }), 403);
    assert.equal((await app.request(RETRY, posted(), from("127.0.0.1"))).status, 403);
  }));

Deno.test("files come from a fixed list: a wrong digest, another name and a way out are not found", () =>
  inWorld(async (world) => {
    const app = world.console();
    const good = await app.request(`/assets/${ASSETS_DIGEST}/console.css`);
    assert.equal(good.status, 200);
    assert.equal(good.headers.get("cache-control"), "public, max-age=31536000, immutable");
    const etag = good.headers.get("etag")!;
    assert.match(etag, /^"[0-9a-f]{32}"$/);
    const again = await app.request(`/assets/${ASSETS_DIGEST}/console.css`, { headers: { "if-none-match": etag } });
    assert.equal(again.status, 304);
    const zipped = await app.request(`/assets/${ASSETS_DIGEST}/console.css`, {
      headers: { "accept-encoding": "br, gzip" },
    });
    assert.equal(zipped.headers.get("content-encoding"), "gzip");
    assert.notEqual(zipped.headers.get("etag"), etag);
    const text = await new Response(zipped.body!.pipeThrough(new DecompressionStream("gzip"))).text();
    assert.equal(text, await good.text());
    const refused = await app.request(`/assets/${ASSETS_DIGEST}/console.css`, {
      headers: { "accept-encoding": "gzip;q=0" },
    });
    assert.equal(refused.headers.get("content-encoding"), null);
    for (
      const path of [
        "0123456789abcdef/console.css",
        `${ASSETS_DIGEST}/../guard.ts`,
        `${ASSETS_DIGEST}/%2e%2e%2fguard.ts`,
        `${ASSETS_DIGEST}/..%2f..%2fdeno.json`,
        `${ASSETS_DIGEST}/%252e%252e%252fguard.ts`,
        `${ASSETS_DIGEST}/..%5c..%5cdeno.json`,
        `${ASSETS_DIGEST}/console.css%00.txt`,
        `${ASSETS_DIGEST}//etc/passwd`,
        `${ASSETS_DIGEST.toUpperCase()}x/console.css`,
        `${ASSETS_DIGEST}/__proto__`,
        `${ASSETS_DIGEST}/constructor`,
        ASSETS_DIGEST,
      ]
    ) {
      assert.equal((await app.request(`/assets/${path}`)).status, 404, path);
    }
  }));

Deno.test("whatever is answered carries the policy and is not kept, and nothing tells another site that it may read", () =>
  inWorld(async (world) => {
    await failed(world);
    const app = world.console();
    const answers: [string, Response][] = [];
    const ask = async (path: string, { status, init = {}, by = app }: Asked) => {
      const headers = { origin: "https://evil.example", ...init.headers };
      const response = await by.request(path, { ...init, headers });
      await response.body?.cancel();
      assert.equal(response.status, status, path);
      answers.push([`${status} ${path}`, response]);
      return response;
    };
    const pages = ["/", "/executions", "/executions/o-1", "/executions/o-1/retry", "/bulk?action=retry", "/doctor"];
    const data = ["/map.json", "/map.txt", "/executions.csv", "/executions.json", "/executions.txt", "/doctor.json"];
    const api = ["/api/map", "/api/recent?since=0", "/api/executions", "/api/executions/o-1", "/api/names"];
    for (const path of [...pages, ...data, ...api]) {
      await ask(path, { status: 200 });
      await ask(path, { status: 200, init: { method: "HEAD" } });
    }
    const known = await app.request("/api/executions/o-1");
    await known.body?.cancel();
    await ask("/api/executions/o-1", {
      status: 304,
      init: { headers: { "if-none-match": known.headers.get("etag")! } },
    });
    await ask("/executions?more=o-1", { status: 302 });
    for (const path of ["/nothing", "/api/nothing", "/executions/nobody"]) await ask(path, { status: 404 });
    await ask("/api/executions?limit=0", { status: 400 });
    await ask(RETRY, { status: 405 });
    const accept = { accept: "text/html" };
    for (const headers of [{}, accept]) {
      await ask("/", { status: 403, init: { headers }, by: world.console({ authorize: () => false }) });
      const authorize = () => Promise.reject(new Error("ldap"));
      await ask("/", { status: 500, init: { headers }, by: world.console({ authorize }) });
    }
    for (const [what, { headers }] of answers) {
      assert.equal(
        headers.get("content-security-policy"),
        "default-src 'self'; base-uri 'self'; object-src 'none'; frame-ancestors 'none'; form-action 'self'",
        what,
      );
      assert.equal(headers.get("x-content-type-options"), "nosniff", what);
      assert.equal(headers.get("referrer-policy"), "same-origin", what);
      assert.equal(headers.get("cache-control"), "no-store", what);
      assert.equal(headers.get("set-cookie"), null, what);
      assert.deepEqual([...headers.keys()].filter((name) => name.startsWith("access-control")), [], what);
    }
  }));

interface Asked {
  readonly status: number;
  readonly init?: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> };
  readonly by?: ReturnType<TestWorld["console"]>;
}

Deno.test("parameters that make no sense are refused", () =>
  inWorld(async (world) => {
    const errors: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (text: string) => void errors.push(text) };
    const app = world.console({ logger });
    for (
      const path of [
        "/api/executions?limit=1e9",
        "/api/executions?limit=-1",
        "/api/executions?limit=NaN",
        "/api/executions?limit=1000000000",
        "/api/executions?limit=0",
        "/api/executions?sort=name",
        "/api/executions?cursor=x",
        "/api/executions?q=colour:red",
        "/api/executions?q=status:broken",
        "/api/executions?q=since:yesterday",
        "/api/executions?q=since:2026-02-30",
        "/api/executions?q=until:2026-11-31T10:00",
        "/api/executions?q=since:2026-02-01+until:2026-01-01",
        "/api/recent",
        "/api/recent?since=-1",
        "/api/recent?since=1e400",
        "/?range=1y",
        "/api/map?range=__proto__",
        "/executions?q=%00",
        `/executions?q=${"x".repeat(5_000)}`,
      ]
    ) {
      const response = await app.request(path);
      assert.equal(response.status, 400, `${path}: ${(await response.text()).slice(0, 100)}`);
    }
    assert.deepEqual(errors, [], "what somebody mistyped is no trouble of the server's");
  }));

Deno.test("a logger that throws does not keep the console from answering", () =>
  inWorld(async (world) => {
    const fails = () => {
      throw new Error("The disk is full");
    };
    const logger = { debug: fails, info: fails, warn: fails, error: fails };
    const app = world.console({ authorize: fails, logger });
    assert.equal((await app.request("/")).status, 500);
  }));

Deno.test("webConsole() says what is wrong with its options, and that it needs queries", () =>
  inWorld((world) => {
    const make = (options: object) => () => webConsole(world.engine, options);
    assert.throws(make({ autorize: () => true }), /Cannot make a console: there is no option options.autorize/);
    assert.throws(make({ pollInterval: 3 }), /options.pollInterval is 3; use 0 \(paused\), 2, 5, 15 or 60 seconds/);
    assert.throws(make({ maxRows: -1 }), /options.maxRows is -1/);
    assert.throws(make({ origin: "ops.example.org/x" }), /options.origin/);
    assert.throws(make({ basePath: "workflows" }), /options.basePath is "workflows"; use a path/);
    assert.throws(make({ authorize: true }), /options.authorize is true; use a function/);
    assert.throws(make({ logger: { error() {} } }), /options.logger is .*; use console, or one like it/);
    assert.throws(() => webConsole(undefined as never), /options.engine is undefined; use an engine/);
    const { queries: _queries, ...rest } = memoryStore();
    const bare = Object.assign(Object.create(Object.getPrototypeOf(memoryStore())), rest);
    Object.defineProperty(bare, "queries", { value: undefined });
    const engine = new Engine({ store: bare, definitions: [world.saga] });
    assert.throws(() => webConsole(engine), /its store answers no queries/);
    return Promise.resolve();
  }));
