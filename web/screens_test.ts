/** What the screens say, without a script. */

import assert from "node:assert/strict";
import { Engine, NonRetryable, saga, StepFailed, workflow } from "../mod.ts";
import type { DetailModel, ListModel, MapModel, RefreshModel } from "./view/model.ts";
import { inWorld, NOON, posted, type TestWorld } from "./fixtures/world.ts";

async function read<Model>(world: TestWorld, path: string): Promise<Model> {
  const response = await world.console().request(path);
  assert.equal(response.status, 200, path);
  return await response.json();
}

function fails(message: string): () => never {
  return () => {
    throw new NonRetryable(message);
  };
}

Deno.test("the map says that nothing needs anybody, when nothing does", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    const map = await read<MapModel>(world, "/map.json");
    assert.equal(map.verdict.isCalm, true);
    assert.deepEqual(map.troubles, []);
    assert.deepEqual(map.verdict.parts, [{
      text: "Nothing needs you. 0 moving, 0 stalled, 0 failed in 1 h.",
      href: null,
    }]);
    const steps = map.lines[0]!.steps;
    assert.deepEqual(steps.map(({ name, waiting }) => [name, waiting]), [
      ["reserve", 0],
      ["charge", 0],
      ["settled", 1],
      ["ship", 0],
    ]);
  }));

Deno.test("the map names what fails, where, how often and since when, and leads to exactly these executions", () =>
  inWorld(async (world) => {
    await world.start("good");
    world.reserve = fails("HTTP 502 from shelf 17");
    await world.start("bad-1");
    world.reserve = fails("HTTP 502 from shelf 99");
    await world.start("bad-2");
    world.reserve = fails("Something else");
    await world.start("other");
    const map = await read<MapModel>(world, "/map.json");
    assert.equal(map.verdict.isCalm, false);
    assert.match(
      map.verdict.parts.map(({ text }) => text).join(""),
      /^Needs you: orders.checkout fails at reserve, 2 in 1 h \(NonRetryable: HTTP 502 from shelf #, since 12:00\)/,
    );
    assert.equal(map.counts.failed, 3);
    const list = await read<ListModel>(world, `/api/${map.groups[0]!.href}`);
    assert.deepEqual(list.rows.map(({ id }) => id).sort(), ["bad-1", "bad-2"]);
    const bulk = await world.console().request(`/bulk?action=retry&q=${encodeURIComponent(list.q)}`);
    assert.match(await bulk.text(), /Of those with <code>error: NonRetryable: HTTP 502 from shelf # at reserve, since/);
    assert.equal(map.lines[0]!.steps[0]!.failed, 3);
  }));

Deno.test("everything that the map refers to is there, and the failures of a step lead to what failed there", () =>
  inWorld(async (world) => {
    await world.start("waiting");
    world.charge = fails("HTTP 402");
    for (const id of ["bad-1", "bad-2"]) await world.start(id);
    const app = world.console();
    const html = await (await app.request("/")).text();
    const hrefs = new Set(
      Array.from(
        html.matchAll(/ href="((?:executions|doctor|\?)[^"]*)"/g),
        ([, href]) => href!.replaceAll("&amp;", "&"),
      ),
    );
    assert.ok(hrefs.size > 5, [...hrefs].join(" "));
    for (const href of hrefs) assert.equal((await app.request(`/${href}`)).status, 200, href);
    const failures = [...hrefs].filter((href) => href.includes("error%3A*"));
    assert.equal(failures.length, 1);
    const list = await read<ListModel>(world, `/api/${failures[0]}`);
    assert.deepEqual(list.rows.map(({ id }) => id).sort(), ["bad-1", "bad-2"]);
  }));

Deno.test("the map draws so many tokens that these and the rest are all that move", () =>
  inWorld(async (world) => {
    world.reserve = () => new Promise(() => {});
    for (let made = 0; made < 60; made++) {
      await world.engine.start(world.saga, { id: `o-${made}`, input: { order: `o-${made}` } });
      await world.clock.advance(1_000);
    }
    const map = await read<MapModel>(world, "/map.json");
    const step = map.lines[0]!.steps[0]!;
    const drawn = step.tokens.filter(({ state }) => state === "running").length;
    const page = await (await world.console().request("/")).text();
    const pill = Number(/\+(\d+) running/.exec(page)?.[1]);
    assert.equal(step.running + step.stalled, 60);
    assert.equal(drawn + pill, step.running);
    assert.equal(step.ages?.reduce((sum, many) => sum + many, 0), 60);
    assert.equal(page.match(/class="token running"/g)?.length, drawn);
  }));

Deno.test("the map names every mark, keeps its range in the URL, and draws nothing that ended before it was opened", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    const app = world.console();
    const page = await (await app.request("/?range=24h")).text();
    const key = /<ul class="key".*?<\/ul>/s.exec(page)![0];
    for (const mark of ["running", "compensating", "stalled", "blocked", "failed", "just finished"]) {
      assert.match(key, new RegExp(mark));
    }
    for (const word of ["moving", "compensating", "waiting", "stalled", "blocked", "failed in 24 h"]) {
      assert.match(page, new RegExp(`<b[^>]*>[^<]*</b><span>${word}</span>`));
    }
    assert.match(page, /href="\.\/\?range=24h" aria-current="true"/);
    assert.match(page, /href="\.\/\?range=7d"/);
    assert.match(page, /<option[^>]*value="60"/);
    assert.doesNotMatch(page, /class="token ghost|just finished<\/p>/);
  }));

Deno.test("the map draws tokens in three lanes, those that go back on a rail, and counts what is stalled by step", () =>
  inWorld(async (world) => {
    world.reserve = () => new Promise(() => {});
    for (let made = 0; made < 9; made++) {
      await world.engine.start(world.saga, { id: `o-${made}`, input: { order: "o" } });
      await world.clock.advance(100);
    }
    await world.engine.start(world.saga, { id: "lonely", input: { order: "o" }, partition: "slow" });
    const refused = saga("orders.refused")
      .step("reserve", { run: () => {}, undo: () => new Promise(() => {}) })
      .step("charge", fails("no"));
    const engine = new Engine({ store: world.store, definitions: [refused], clock: world.clock });
    engine.work({ name: "w-2" });
    await engine.start(refused, { id: "back", input: {} });
    await world.clock.advance(20 * 60_000);
    const page = await (await world.console().request("/")).text();
    const lanes = [...page.matchAll(/class="token running"[^>]* y="(\d+)"/g)].map(([, y]) => y);
    assert.equal(lanes.length, 9);
    assert.equal(new Set(lanes).size, 3);
    const [, rail] = /class="rail"[^>]* y1="(\d+)"/.exec(page)!;
    assert.match(page, new RegExp(`class="token compensating"[^>]* y="${rail}"`));
    assert.equal(
      page.match(/<a href="[^"]*stalled[^"]*" aria-label="stalled"[^>]*><svg class="token stalled"/g)?.length,
      1,
    );
    const map = await read<MapModel>(world, "/map.json");
    assert.equal(map.lines.find(({ saga }) => saga === "orders.checkout")!.steps[0]!.stalled, 1);
    assert.deepEqual(map.waiting.map(({ id }) => id), ["lonely"]);
    const closing = engine.close({ deadline: 1 });
    await world.clock.advance(60_000);
    await closing;
  }));

Deno.test("title, interval, the rows that are looked at and the time after which something is stalled are as they are set", () =>
  inWorld(async (world) => {
    const page = await (await world.console({ title: "Shop", pollInterval: 15 }).request("/")).text();
    assert.match(page, /<title>[^<]*Shop<\/title>/);
    assert.match(page, /<body[^>]* data-interval="15"/);
    const queries = world.store.queries!;
    const { inProgress, list } = queries;
    const asked: (number | undefined)[] = [];
    queries.inProgress = (options) => (asked.push(options.stalledAfterMs), inProgress.call(queries, options));
    queries.list = (options) => (asked.push(options.maxRows), list.call(queries, options));
    try {
      const app = world.console({ stalledAfter: "4m", maxRows: 700 });
      await app.request("/map.json");
      await app.request("/executions?q=partition:default");
      assert.deepEqual(asked, [240_000, 700]);
    } finally {
      Object.assign(queries, { inProgress, list });
    }
  }));

Deno.test("the chart's table has the same numbers as the chart, and no more than a thousand rows", () =>
  inWorld(async (world) => {
    world.reserve = fails("no");
    for (const id of ["o-1", "o-2", "o-3"]) await world.start(id);
    for (const range of ["1h", "24h", "7d"]) {
      const map = await read<MapModel>(world, `/map.json?range=${range}`);
      assert.ok(map.throughput.buckets.length <= 1_000);
      assert.equal(map.throughput.buckets.reduce((sum, { failed }) => sum + failed, 0), 3);
    }
    const page = await (await world.console().request("/")).text();
    const table = /<section[^>]*aria-labelledby="throughput".*?<table.*?<\/table>/s.exec(page)?.[0] ?? "";
    const cells = [...table.matchAll(/<td class="num">(\d+)<\/td>/g)].map(([, text]) => Number(text));
    assert.equal(cells.reduce((sum, value) => sum + value, 0), 3);
  }));

Deno.test("the list says show older in the usual order and show more in another, and sorts by a select", () =>
  inWorld(async (world) => {
    for (const id of ["o-1", "o-2"]) await world.start(id);
    const page = async (query: string) => await (await world.console().request(`/executions?limit=1${query}`)).text();
    assert.match(await page(""), />Show older</);
    const other = await page("&sort=started");
    assert.match(other, />Show more</);
    assert.match(other, /<select name="sort".*?<option value="started" selected/s);
  }));

Deno.test("the map says which partition has no worker", () =>
  inWorld(async (world) => {
    await world.engine.start(world.saga, { id: "o-1", input: { order: "o-1" }, partition: "slow" });
    const map = await read<MapModel>(world, "/map.json");
    assert.match(map.verdict.parts.map(({ text }) => text).join(""), /No worker on partition slow/);
  }));

Deno.test("a refresh tells what has ended since the last one, and the same again is not sent twice", () =>
  inWorld(async (world) => {
    world.reserve = fails("no");
    const app = world.console();
    const since = world.clock.now();
    await world.clock.advance(1);
    await world.start("o-1");
    const first = await app.request(`/api/recent?since=${since}&replay_from=${since - 1_000}`);
    const { now, recent, map }: RefreshModel = await first.json();
    assert.equal(now, world.clock.now());
    assert.deepEqual(recent.counts, [{ saga: "orders.checkout", completed: 0, failed: 1, compensated: 0 }]);
    assert.deepEqual(recent.finished.map(({ id, state, way }) => ({ id, state, way })), [
      { id: "o-1", state: "failed", way: [{ step: "reserve", isUndo: false }] },
    ]);
    assert.equal(map.counts?.failed, 1);
    await world.clock.advance(1_000);
    const second = await app.request(`/api/recent?since=${now}`);
    const etag = second.headers.get("etag")!;
    await world.clock.advance(1_000);
    const third = await app.request(`/api/recent?since=${now + 1_000}`, { headers: { "if-none-match": etag } });
    assert.equal(third.status, 304);
    assert.equal(Number(third.headers.get("x-leveret-now")), world.clock.now());
    assert.ok([...third.headers].reduce((size, [name, value]) => size + name.length + value.length + 4, 0) < 400);
  }));

Deno.test("the list filters by every condition, sorts both ways, and pages along the order", () =>
  inWorld(async (world) => {
    for (const id of ["o-1", "o-2", "o-3"]) await world.start(id, { note: `note of ${id}` });
    world.reserve = fails("HTTP 502");
    await world.start("o-4");
    const ids = async (query: string) =>
      (await read<ListModel>(world, `/api/executions?${query}`)).rows.map(({ id }) => id).join();
    assert.equal(await ids(""), "o-4,o-3,o-2,o-1");
    assert.equal(await ids("sort=started"), "o-1,o-2,o-3,o-4");
    assert.equal(await ids("sort=took&limit=1"), "o-4");
    assert.equal(await ids("q=status:failed"), "o-4");
    assert.equal(await ids("q=status:failed+status:running&limit=2"), "o-4,o-3");
    assert.equal(await ids("q=saga:nobody"), "");
    assert.equal(await ids("q=step:settled"), "o-3,o-2,o-1");
    assert.equal(await ids("q=error:NonRetryable"), "o-4");
    assert.equal(await ids(`q=${encodeURIComponent('error:"HTTP 502"')}`), "o-4");
    assert.equal(await ids("q=error:HTTP"), "o-4");
    assert.equal(await ids("q=error:TypeError"), "");
    assert.equal(await ids("q=resource:Order/"), "o-4,o-3,o-2,o-1");
    assert.equal(await ids("q=resource:Order/o-2"), "o-2");
    assert.equal(await ids("q=resource:Order"), "o-4,o-3,o-2,o-1");
    assert.equal(await ids("q=partition:default&limit=1"), "o-4");
    assert.equal(await ids(`q=${encodeURIComponent('ctx.note:"note of o-3"')}`), "o-3");
    assert.equal(await ids("q=stalled"), "");
    assert.equal(await ids("q=o-3"), "o-3");
    assert.equal(await ids("q=since:2026-01-31T12:00:15Z"), "o-4,o-3");
    const page = await read<ListModel>(world, "/api/executions?limit=3&sort=started");
    assert.equal(await ids(`limit=3&sort=started&cursor=${encodeURIComponent(page.next!)}`), "o-4");
  }));

Deno.test("a filter that no store could answer is told on the list, and counts nothing", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    const app = world.console();
    const deep = Array.from({ length: 21 }, () => "a").join(".");
    for (
      const q of ['""', "a".repeat(1_001), "resource:/x", `ctx.${deep}:1`, `ctx.${"a".repeat(1_001)}:1`, "x:"]
    ) {
      const asked = new URLSearchParams({ q });
      const page = await app.request(`/executions?${asked}`);
      assert.equal(page.status, 400, q);
      const html = await page.text();
      assert.match(html, /<h1>Executions<\/h1>.*role="alert">[^<]+<.*The filter could not be understood/s, q);
      const text = await (await app.request(`/executions.txt?${asked}`)).text();
      assert.match(text, /^Executions with .*\n[A-Z].+\n/, q);
    }
  }));

Deno.test("the list works without a script: chips, a field that narrows it, an id that jumps", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    const app = world.console();
    const page = await (await app.request("/executions?q=status:running+saga:orders.checkout&sort=took")).text();
    assert.match(page, /aria-label="Remove status: running"/);
    assert.match(page, /name="more"/);
    const narrowed = await app.request("/executions?q=status:running&more=step:settled");
    assert.equal(narrowed.headers.get("location"), "executions?q=status%3Arunning+step%3Asettled");
    const jump = await app.request("/executions?q=status:running&more=o-1");
    assert.equal(jump.headers.get("location"), "executions/o-1");
    assert.equal(jump.status, 302);
  }));

Deno.test("the list says what is wrong with a filter instead of showing everything", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    const response = await world.console().request("/executions?q=colour:red");
    assert.equal(response.status, 400);
    const page = await response.text();
    assert.match(page, /There is no condition &quot;colour:&quot;; use saga, status/);
    // It stands in the field, to be mended there, and does not come back with what is sent instead of it.
    assert.match(page, /<input name="more"[^>]* value="colour:red"/);
    assert.match(page, /<input type="hidden" name="q" value(?:="")?\/>/);
    assert.doesNotMatch(page, /executions\/o-1/);
  }));

Deno.test("exports hold all pages of the filter, and no formula", () =>
  inWorld(async (world) => {
    world.reserve = fails('=HYPERLINK("https://evil.example"),\n"x"');
    await world.start("=1+1");
    world.reserve = () => ({ reservation: "R-1" });
    await world.start("o-2");
    const app = world.console();
    const csv = await app.request("/executions.csv?q=status:failed");
    assert.equal(csv.headers.get("content-type"), "text/csv; charset=utf-8");
    const [head, row, end] = (await csv.text()).split("\r\n");
    assert.match(head!, /^id,status,saga,/);
    assert.match(
      row!,
      /^'=1\+1,failed,orders.checkout,1,reserve,Order,=1\+1|^'=1\+1,failed,orders.checkout,1,reserve,Order,'=1\+1/,
    );
    assert.match(row!, /"'=HYPERLINK\(""https:\/\/evil.example""\),\n""x"""$/);
    assert.equal(end, "");
    const rows = await read<readonly { readonly id: string }[]>(world, "/executions.json");
    assert.deepEqual(rows.map(({ id }) => id), ["o-2", "=1+1"]);
  }));

Deno.test("the page of an execution shows its attempts, what they changed, and why it went wrong", () =>
  inWorld(async (world) => {
    world.charge = fails("HTTP 402: no money");
    await world.start("o-1");
    const model = await read<DetailModel>(world, "/api/executions/o-1");
    assert.deepEqual(model.troubles, []);
    assert.deepEqual(
      model.attempts.map(({ step, direction, status }) => [step, direction, status]),
      [["reserve", "execute", "succeeded"], ["charge", "execute", "failed"], ["reserve", "compensate", "succeeded"]],
    );
    assert.deepEqual(model.attempts[0]!.diff, [{ kind: "add", path: "reservation", before: "", after: '"R-1"' }]);
    assert.deepEqual(model.way.map(({ name, word }) => [name, word]), [
      ["reserve", "undone"],
      ["charge", "failed"],
      ["settled", "not reached"],
      ["ship", "not reached"],
    ]);
    const page = await (await world.console().request("/executions/o-1")).text();
    assert.match(page, /HTTP 402: no money/);
    assert.match(page, /Why it went wrong: NonRetryable at charge/);
  }));

Deno.test("the page of an execution names each action by its effect, with the exact plan of what is undone", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    const { actions, sentence } = await read<DetailModel>(world, "/api/executions/o-1");
    assert.match(sentence, /waiting for the signal "settled" until/);
    const compensate = actions.find(({ action }) => action === "compensate")!;
    assert.equal(compensate.label, "Compensate: undo 2 steps");
    assert.deepEqual(compensate.plan, [{ step: "charge", isCertain: true }, { step: "reserve", isCertain: true }]);
    assert.equal(compensate.refused, null);
    assert.deepEqual(actions.filter(({ refused }) => refused === null).map(({ action }) => action), [
      "compensate",
      "terminate",
      "signal",
    ]);
    const confirm = await (await world.console().request("/executions/o-1/compensate")).text();
    assert.match(confirm, /<ol class="plan"><li>charge<\/li><li>reserve<\/li><\/ol>/);
    assert.match(confirm, /<noscript>/);
  }));

Deno.test("every action does what it says, and is written down", () =>
  inWorld(async (world) => {
    const app = world.console();
    const post = async (id: string, action: string, body: object = {}) => {
      const response = await app.request(`/api/executions/${id}/${action}`, posted(body));
      return { status: response.status, body: await response.json() };
    };
    await world.start("signalled");
    assert.deepEqual(
      await post("signalled", "signal", { name: "settled", payload: { at: "noon" }, reason: "by phone" }),
      {
        status: 200,
        body: { id: "signalled", stored: true },
      },
    );
    await world.clock.advance(10_000);
    assert.equal((await world.engine.get("signalled"))?.status, "completed");
    const again = await post("signalled", "rerun");
    assert.equal(again.body.created, true);
    const part = await post("signalled", "rerun", { from: "ship" });
    await world.clock.advance(10_000);
    assert.equal((await world.engine.get(part.body.id))?.status, "completed");
    assert.equal((await post("signalled", "rerun", { from: "nowhere" })).status, 409);
    await world.start("compensated");
    assert.equal((await post("compensated", "compensate", { reason: "sold out" })).status, 200);
    await world.clock.advance(10_000);
    assert.equal((await world.engine.get("compensated"))?.status, "compensated");
    await world.start("terminated");
    assert.equal((await post("terminated", "terminate")).body.status, "failed");
    assert.equal((await post("terminated", "terminate")).status, 409);
    assert.equal((await post("terminated", "skip")).status, 409);
    const operations = await world.engine.operations("compensated");
    assert.deepEqual(operations.map(({ action, actor, reason }) => [action, actor, reason]), [
      ["compensate", "ann", "sold out"],
      ["request_carried_out", "ann", "sold out"],
    ]);
  }));

Deno.test("the page of an execution leads to the other runs of its resource", () =>
  inWorld(async (world) => {
    await world.engine.start(world.saga, { id: "a", input: { order: "7" }, resource: { type: "Order", id: "7" } });
    await world.engine.start(world.saga, { id: "b", input: { order: "7" }, resource: { type: "Order", id: "7" } });
    await world.start("c");
    const { others } = await read<DetailModel>(world, "/api/executions/a");
    assert.deepEqual(others.map(({ id }) => id), ["b"]);
  }));

Deno.test("the preview of a bulk action names those it would act on, and why the others are left out", () =>
  inWorld(async (world) => {
    await world.start("waiting");
    world.reserve = fails("no");
    await world.start("bad-1");
    await world.start("bad-2");
    const page = await (await world.console().request("/bulk?action=retry&q=saga:orders.checkout")).text();
    assert.match(page, /Retry 2 executions/);
    assert.match(page, /1: it is on its way/);
    assert.match(page, /bad-1/);
    const none = await world.console({ authorize: (_request, action) => action === "read" }).request(
      "/bulk?action=retry",
    );
    assert.equal(none.status, 403);
  }));

Deno.test("rows of the list can be ticked: just these are previewed, and nothing if none is", () =>
  inWorld(async (world) => {
    world.reserve = fails("no");
    for (const id of ["bad-1", "bad-2", "bad-3"]) await world.start(id);
    const app = world.console();
    const list = await (await app.request("/executions?q=status:failed")).text();
    assert.equal(list.match(/<input type="checkbox" name="id"/g)?.length, 3);
    assert.match(list, /<form id="pick"[^>]* action="bulk" method="get"/);
    assert.match(list, /href="bulk\?action=retry&amp;q=status%3Afailed"/);
    const preview = "/bulk?action=retry&only=picked&q=status%3Afailed";
    const page = await (await app.request(`${preview}&id=bad-1&id=bad-3`)).text();
    assert.match(page, /Retry 2 executions/);
    assert.match(page, /Of the 2 that were picked/);
    assert.doesNotMatch(page, /bad-2/);
    const none = await app.request(preview);
    assert.deepEqual([none.status, none.headers.get("location")], [302, "executions?q=status%3Afailed"]);
    const many = Array.from({ length: 101 }, (_, at) => `id=o-${at}`).join("&");
    assert.equal((await app.request(`${preview}&${many}`)).status, 400);
    const reader = world.console({ authorize: (_request, action) => action === "read" });
    assert.doesNotMatch(await (await reader.request("/executions")).text(), /type="checkbox"/);
  }));

Deno.test("exports go beyond one page, and a reader that leaves ends them", () =>
  inWorld(async (world) => {
    const made = 2_100;
    for (let at = 0; at < made; at++) {
      await world.engine.start(world.saga, { id: `o-${at}`, input: { order: "o" }, at: NOON + 86_400_000 });
    }
    const app = world.console();
    const csv = await (await app.request("/executions.csv")).text();
    assert.equal(new Set(csv.trim().split("\r\n").slice(1).map((line) => line.split(",")[0])).size, made);
    const rows = await read<readonly unknown[]>(world, "/executions.json?sort=started");
    assert.equal(rows.length, made);
    const packed = await app.request("/executions.csv", { headers: { "accept-encoding": "gzip" } });
    assert.equal(packed.headers.get("content-encoding"), "gzip");
    await packed.body!.cancel();
  }));

Deno.test("what is hidden is in no page, no data, no text and no search", () =>
  inWorld(async (world) => {
    await world.start("o-1", { card: "4111 1111 1111 1111", note: "5500-0000-0000-0004" });
    const app = world.console();
    for (
      const path of [
        "/executions/o-1",
        "/api/executions/o-1",
        "/executions/o-1/execution.json",
        "/executions/o-1/execution.txt",
      ]
    ) {
      const text = await (await app.request(path)).text();
      assert.ok(!/4111|5500-0000/.test(text), path);
      assert.ok(text.includes("••••••"), path);
    }
    assert.equal(
      (await app.request(`/api/executions?q=${encodeURIComponent('ctx.card:"4111 1111 1111 1111"')}`)).status,
      400,
    );
    const own = world.console({ redact: (path, value) => path === "context.order" ? "hidden" : value });
    const text = await (await own.request("/executions/o-1/execution.json")).text();
    assert.ok(text.includes('"order":"hidden"') && text.includes("4111"));
    assert.equal((await own.request("/api/executions?q=ctx.order:o-1")).status, 400);
  }));

Deno.test("markup, directions and line separators in names, errors and values are text", () =>
  inWorld(async (world) => {
    const nasty = `</script><img src=x onerror=alert(1)>"'\u2028\u202Eabc<!--`;
    world.charge = fails(nasty);
    await world.start(`o<b>"&`, { note: nasty });
    const app = world.console({ title: "</title><script>" });
    for (const path of ["/", "/executions", `/executions/${encodeURIComponent('o<b>"&')}`]) {
      const page = await (await app.request(path)).text();
      assert.ok(!page.includes("<img"), path);
      assert.ok(!page.includes("</title><script>"), path);
      assert.equal(page.match(/<script/g)?.length, 2, path);
      assert.ok(
        !/\sstyle=|\son[a-z]+=/.test(page.replace(/data-state="[^"]*"/, "").replaceAll(/&quot;|&lt;[^&]*/g, "")),
        path,
      );
    }
  }));

Deno.test("a workflow is shown by the steps that were seen, also between two of them and in its branches", () =>
  inWorld(async (world) => {
    const trip = workflow("trips.book", async (flow, input: { city: string }) => {
      const hotel = await flow.step("hotel", () => `hotel in ${input.city}`, { undo: () => {} });
      await flow.parallel("tell", (p) => ({ mail: p.step(() => "sent"), text: p.step(() => "sent") }));
      await flow.waitFor("approved", { timeout: "3d" });
      return { hotel };
    });
    const engine = new Engine({ store: world.store, definitions: [trip], clock: world.clock });
    engine.work({ name: "w-2" });
    await engine.start(trip, { id: "t-1", input: { city: "Rome" } });
    await world.clock.advance(10_000);
    const model = await read<DetailModel>(world, "/api/executions/t-1");
    assert.deepEqual(model.way.map(({ name, word }) => [name, word]), [
      ["hotel", "done"],
      ["tell", "done"],
      ["tell/mail", "done"],
      ["tell/text", "done"],
      ["approved", "waiting"],
    ]);
    assert.deepEqual(model.attempts[0]!.diff, [{
      kind: "add",
      path: "returned",
      before: "",
      after: '"hotel in Rome"',
    }]);
    assert.equal(model.actions.find(({ action }) => action === "compensate")?.label, "Compensate: undo 1 step");
    // The console's own engine does not know the definition.
    const map = await read<MapModel>(world, "/map.json");
    const line = map.lines.find(({ saga }) => saga === "trips.book")!;
    assert.ok(line.steps.some(({ name, waiting }) => name === "approved" && waiting === 1));
    await engine.close({ deadline: 1 });
  }));

Deno.test("a workflow with a hook, a call, a parallel and a caught failure is shown in the order of its steps", () =>
  inWorld(async (world) => {
    const tell = workflow("mails.send", async (flow) => {
      await flow.step("send", () => "sent");
      return { sent: true };
    });
    const trip = workflow("trips.book", async (flow) => {
      flow.on("completed", () => {});
      try {
        await flow.step("train", fails("no seats left"), { undo: () => {} });
      } catch (error) {
        if (!(error instanceof StepFailed)) throw error;
        await flow.step("bus", () => "bus 17", { undo: () => {} });
      }
      await flow.parallel("pack", (p) => ({ bag: p.step(() => "packed"), shoes: p.step(() => "packed") }));
      await flow.call(tell, {}, { name: "announce" });
      return { way: "bus" };
    });
    const engine = new Engine({ store: world.store, definitions: [tell, trip], clock: world.clock });
    engine.work({ name: "w-2" });
    await engine.start(trip, { id: "t-1", input: {} });
    await world.clock.advance(60_000);
    const model = await read<DetailModel>(world, "/api/executions/t-1");
    assert.deepEqual(model.way.map(({ name, word }) => [name, word]), [
      ["train", "failed"],
      ["bus", "done"],
      ["pack", "done"],
      ["pack/bag", "done"],
      ["pack/shoes", "done"],
      ["announce", "done"],
      ["announce/result", "done"],
      ["~completed", "done"],
    ]);
    assert.equal(model.failure, null, "a failure that was caught is none of the execution's");
    assert.equal(model.output?.text, '{\n  "way": "bus"\n}');
    const page = await (await world.console().request("/executions/t-1")).text();
    assert.match(page, /when completed/);
    assert.match(page, /<li class="cut">announce<\/li><li/);
    assert.doesNotMatch(page, /<li class="cut">announce\/result<\/li>/, "a call is drawn twice");
    const child = await read<ListModel>(world, "/api/executions?q=saga:mails.send");
    const childId = child.rows[0]!.id;
    assert.equal((await read<DetailModel>(world, `/api/executions/${childId}`)).parentId, "t-1");
    assert.ok(page.includes(`Called <a class="mono" href="executions/${encodeURIComponent(childId)}">`), childId);
    await engine.close({ deadline: 1 });
  }));

Deno.test("an unknown execution is not found, on pages and as data", () =>
  inWorld(async (world) => {
    const app = world.console();
    for (
      const path of [
        "/executions/nobody",
        "/api/executions/nobody",
        "/executions/nobody/execution.txt",
        "/executions/nobody/execution.json",
        "/executions/nobody/retry",
        "/api/nothing",
        "/nothing",
      ]
    ) {
      assert.equal((await app.request(path)).status, 404, path);
    }
  }));

Deno.test("nothing in the text twins moves a terminal's cursor, whatever errors and contexts hold", () =>
  inWorld(async (world) => {
    const hostile = "before\x1b[2J\x1b]0;title\x07\r\nfailed: x\x9b31m\x7fafter";
    world.reserve = fails(hostile);
    await world.start("o-1", { note: hostile });
    await world.engine.retry("o-1", { reason: hostile, actor: "ann" });
    await world.clock.advance(10_000);
    for (const path of ["/map.txt", "/executions.txt", "/executions/o-1/execution.txt", "/doctor.txt"]) {
      const text = await (await world.console().request(path)).text();
      assert.deepEqual(text.match(/[^\P{Cc}\n]/gu), null, path);
      assert.doesNotMatch(text, /^failed: x/m, path);
    }
  }));

Deno.test("the text twins say what the screens say", () =>
  inWorld(async (world) => {
    world.charge = fails("HTTP 402\u001b[31m\nno money");
    await world.start("o-1");
    const app = world.console();
    const text = async (path: string) => {
      const response = await app.request(path);
      assert.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
      return await response.text();
    };
    assert.match(await text("/map.txt"), /orders\.checkout\n +reserve\n +charge +1 failed tries/);
    assert.match(await text("/executions.txt"), /compensated +orders\.checkout +reserve +Order\/o-1/);
    const detail = await text("/executions/o-1/execution.txt");
    assert.match(detail, /charge +failed +0 ms +NonRetryable: HTTP 402 \[31m no money/);
    assert.match(await text("/doctor.txt"), /works +Store +memory/);
  }));
