/** What the console says when something is wrong with what it stands on. */

import assert from "node:assert/strict";
import { Hono } from "hono";
import { Engine, SagaError } from "../mod.ts";
import { inWorld, type TestWorld } from "./fixtures/world.ts";
import { webConsole } from "./mod.ts";

Deno.test("a part that cannot be read leaves the others standing, and says what is missing and when it worked last", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    const fail = () => Promise.reject(new Error("disk"));
    const whole = { ...world.store.queries! };
    const app = world.console();
    assert.match(await (await app.request("/")).text(), /No try has failed in 1 h.*Nothing is stalled/s);
    // Longer than anything is kept.
    await world.clock.advance(10 * 60_000);
    Object.assign(world.store.queries!, { errorGroups: fail, stalled: fail, throughput: fail });
    try {
      const response = await app.request("/");
      assert.equal(response.status, 200);
      const page = await response.text();
      assert.match(page, /orders\.checkout/);
      for (const part of ["groups of errors", "what is stalled", "throughput"]) {
        assert.match(page, new RegExp(`Not shown: ${part}\\. Something went wrong\\. It worked last at 12:00:10 UTC`));
      }
      assert.equal(page.match(/Could not be read\. Something went wrong\./g)?.length, 3);
      // What is missing must not look like nothing.
      assert.doesNotMatch(page, /No try has failed|Nothing is stalled|0 completed|Nothing needs you/);
      assert.match(page, /Nobody can say whether anything needs you: groups of errors, throughput could not be read/);
      assert.match(page, /<b[^>]*>\?<\/b><span>failed in 1 h<\/span>/);
      assert.doesNotMatch(page, /disk/);
      assert.match(
        await (await app.request("/map.txt")).text(),
        /Not shown: throughput\. .* It worked last at 12:00:10 UTC/,
      );
      const fresh = await (await world.console().request("/")).text();
      assert.match(fresh, /It has not worked since the server started/);
    } finally {
      Object.assign(world.store.queries!, whole);
    }
    const after = await (await app.request("/")).text();
    assert.doesNotMatch(after, /Not shown|Could not be read/);
  }));

Deno.test("nothing is said of what is on its way where that cannot be read", () =>
  inWorld(async (world) => {
    await world.start("o-1");
    const { inProgress } = world.store.queries!;
    world.store.queries!.inProgress = () => Promise.reject(new Error("disk"));
    try {
      const page = await (await world.console().request("/")).text();
      assert.match(page, /Nobody can say whether anything needs you: what is in progress could not be read/);
      assert.match(page, /<b[^>]*>\?<\/b><span>moving<\/span>/);
      assert.match(page, /\? moving/);
    } finally {
      world.store.queries!.inProgress = inProgress;
    }
  }));

Deno.test("the doctor looks at what it can where the store does not answer, and says so of the store", () =>
  inWorld(async (world) => {
    const { now } = world.store;
    const fails = (error: Error) => {
      world.store.now = () => Promise.reject(error);
    };
    try {
      fails(new SagaError("store_unavailable", 'Cannot use the database "x": it is gone'));
      const text = await world.console().request("/doctor.txt");
      assert.equal(text.status, 503);
      assert.match(await text.text(), /LOOK HERE +Store +Cannot use the database "x": it is gone\nworks +Exchange /);
      fails(new Error("password of the database"));
      const page = await world.console().request("/doctor");
      assert.equal(page.status, 503);
      const html = await page.text();
      assert.match(html, /One part needs you.*something went wrong, see the log.*mounted at.*Could not be read/s);
      assert.doesNotMatch(html, /password|No worker is alive/);
    } finally {
      world.store.now = now;
    }
  }));

Deno.test("the doctor looks at workers, sweeper and indexes, and at how it is reached", () =>
  inWorld(async (world) => {
    const doctor = async (app: Pick<ReturnType<TestWorld["console"]>, "request">, path = "/doctor.txt", headers = {}) =>
      await (await app.request(path, { headers })).text();
    await world.clock.advance(10_000);
    const app = world.console();
    const alone = await doctor(app);
    for (
      const line of [
        /works +Store +memory/,
        /LOOK HERE +Clock +the store's is .* behind; the engine follows the store's/,
        /works +Indexes +this store needs none/,
        /works +Workers +1 alive/,
        /works +Sweeper +this process has looked for what is due \d s ago/,
        /works +Address +mounted at \/, found out from the request/,
        /works +Origin +no proxy is to be seen; actions are taken from http:\/\/localhost/,
      ]
    ) assert.match(alone, line);
    const mounted = new Hono().route("/ops/:team", app);
    assert.match(await doctor(mounted, "/ops/shop/doctor.txt"), /mounted at \/ops\/shop\/, found out/);
    assert.match(await doctor(world.console({ basePath: "/w" })), /mounted at \/w\/, by the option basePath/);

    const forwarded = { "x-forwarded-host": "ops.example.org", "x-forwarded-proto": "https, http" };
    const origin = "https://ops.example.org";
    assert.match(
      await doctor(app, "/doctor.txt", forwarded),
      /LOOK HERE +Origin +a proxy says .* set the option origin/,
    );
    assert.match(await doctor(world.console({ origin }), "/doctor.txt", forwarded), /works +Origin .* as expected/);
    const standard = { forwarded: 'for=10.0.0.1;proto=https;host="ops.example.org"' };
    assert.match(await doctor(world.console({ origin }), "/doctor.txt", standard), /works +Origin .* as expected/);
    const nonsense = { "x-forwarded-host": "<script>", "x-forwarded-proto": "https" };
    assert.match(await doctor(app, "/doctor.txt", nonsense), /LOOK HERE +Origin .* an address that is none/);

    const idle = new Engine({ store: world.store, definitions: [], clock: world.clock });
    const other = webConsole(idle, { authorize: () => true });
    assert.match(await doctor(other), /works +Sweeper +no worker in this process, those elsewhere .* 1 alive/);
    await idle.close();
  }));
