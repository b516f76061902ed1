/** What the page of an execution says of its attempts, and the list of what it has not looked at. */

import assert from "node:assert/strict";
import { NonRetryable } from "../mod.ts";
import { anAttempt } from "../testing/factories.ts";
import { arrange } from "../testing/query_conformance/suite.ts";
import { inWorld, posted } from "./fixtures/world.ts";
import type { DetailModel, ListModel, MapModel } from "./view/model.ts";

Deno.test("an attempt whose worker vanished is outcome unknown, with its idempotency key", () =>
  inWorld(async (world) => {
    const attempts = [
      anAttempt({
        id: "a-1",
        stepName: "charge",
        status: "abandoned",
        key: "o-1:charge:1",
        worker: "w-9",
      }),
    ];
    await arrange(world.store, {
      execution: { id: "o-1", sagaName: "orders.checkout", currentStep: "charge" },
      attempts,
    });
    const page = await (await world.console().request("/executions/o-1")).text();
    assert.match(page, /<b>outcome unknown<\/b>/);
    assert.match(
      page,
      /The worker vanished; the step may have taken effect\. Its idempotency key: <code>o-1:charge:1<\/code>/,
    );
    assert.doesNotMatch(page, /<b>abandoned<\/b>/);
  }));

Deno.test("a backtrace has the frames of one's own code first, and all of it behind a switch", () =>
  inWorld(async (world) => {
    const stack = [
      "Error: HTTP 502",
      "    at charge (file:///srv/shop/src/payments.ts:17:9)",
      "    at run (file:///srv/shop/node_modules/@leveret/saga/engine.js:1:2)",
      "    at processTicksAndRejections (node:internal/process/task_queues:95:5)",
    ].join("\n");
    world.reserve = () => {
      throw Object.assign(new NonRetryable("HTTP 502"), { stack });
    };
    await world.start("o-1");
    const app = world.console();
    const { attempts }: DetailModel = await (await app.request("/api/executions/o-1")).json();
    assert.deepEqual(attempts[0]!.frames, ["charge (src/payments.ts:17:9)"]);
    const page = await (await app.request("/executions/o-1")).text();
    const [, short, whole] = /<summary>Backtrace<\/summary><pre[^>]*>(.*?)<\/pre><details>(.*?)<\/details>/s.exec(
      page,
    )!;
    assert.doesNotMatch(short!, /node_modules|node:internal/);
    assert.match(whole!, /All of it.*node_modules.*node:internal/s);
  }));

Deno.test("how long a step takes stands beside how long it took, once there are enough samples", () =>
  inWorld(async (world) => {
    const complete = async (id: string) => {
      await world.start(id);
      await world.engine.signal(id, "settled", { at: "noon" });
      await world.clock.advance(1_000);
    };
    for (let made = 0; made < 19; made++) await complete(`o-${made}`);
    const step = async () => {
      const map: MapModel = await (await world.console().request("/map.json")).json();
      return map.lines[0]!.steps[0]!;
    };
    world.reserve = () => new Promise(() => {});
    await world.engine.start(world.saga, { id: "moving", input: { order: "o" } });
    await world.clock.advance(1);
    assert.equal((await step()).timing, null);
    const early = await (await world.console().request("/")).text();
    assert.match(early, /no timing yet/);
    assert.doesNotMatch(early, /class="bay"/);
    world.reserve = () => ({ reservation: "R-1" });
    await complete("o-19");
    assert.notEqual((await step()).timing, null);
    const late = await (await world.console().request("/")).text();
    assert.match(late, /data-step="reserve".*?class="bay".*?data-step="charge"/s);
    const page = await (await world.console().request("/executions/o-3")).text();
    assert.match(page, /p50 \d+ ms,<\/span> <span>p95 \d+ ms/);
  }));

Deno.test("a trace is a link where one was set up, and never one to a script", () =>
  inWorld(async (world) => {
    const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await world.engine.start(world.saga, { id: "o-1", input: { order: "o" }, trace });
    await world.clock.advance(1_000);
    const page = async (traceUrl?: (id: string) => string) =>
      await (await world.console(traceUrl === undefined ? {} : { traceUrl }).request("/executions/o-1")).text();
    assert.match(
      await page((id) => `https://traces.example.org/${id}`),
      /href="https:\/\/traces\.example\.org\/4bf92f3577b34da6a3ce929d0e0e4736"/,
    );
    assert.match(await page(), /4bf92f3577b34da6a3ce929d0e0e4736/);
    assert.doesNotMatch(await page(), /traces\.example/);
    assert.doesNotMatch(await page((id) => `javascript:alert("${id}")`), /href="javascript/);
  }));

Deno.test("counts that were cut say so, and a search through contexts says what it has searched", () =>
  inWorld(async (world) => {
    for (let made = 0; made < 1_001; made++) {
      const at = world.clock.now() + 86_400_000;
      await world.engine.start(world.saga, { id: `o-${made}`, input: { order: "o", note: "none" }, at });
    }
    const app = world.console({ maxRows: 100 });
    assert.match(await (await app.request("/executions")).text(), /<h1>1,000\+ executions<\/h1>/);
    const found = await (await app.request("/executions?q=ctx.note:other")).text();
    assert.match(found, /Searched the first 100 executions in this order; &quot;show more&quot; goes on from there\./);
    const { note, next }: ListModel = await (await app.request("/api/executions?q=ctx.note:other")).json();
    assert.ok(note !== null && next !== null);
  }));

Deno.test("what sleeps, waits, is blocked or scheduled has a mark of its own on the map, and no token", () =>
  inWorld(async (world) => {
    await world.start("waits");
    await arrange(
      world.store,
      {
        execution: {
          id: "blocked",
          sagaName: "orders.checkout",
          currentStep: "ship",
          status: "blocked",
          blockedReason: "definition_missing",
        },
      },
    );
    await world.engine.start(world.saga, { id: "later", input: { order: "o" }, at: world.clock.now() + 60_000 });
    const app = world.console();
    const page = await (await app.request("/")).text();
    const step = (name: string) => new RegExp(`data-step="${name}".*?(?=data-step|class="end")`, "s").exec(page)![0];
    assert.match(step("settled"), /class="tag waiting".*class="mark waiting".*<span class="sr">waiting for a signal/s);
    assert.match(step("ship"), /class="tag blocked".*class="mark blocked".*<span class="sr">blocked/s);
    assert.match(step("reserve"), /class="tag sleeping".*class="mark sleeping".*<span class="sr">sleeping/s);
    assert.doesNotMatch(page, /class="token /);
  }));

Deno.test("what people did stands on the page, with who it was and why", () =>
  inWorld(async (world) => {
    world.reserve = () => {
      throw new NonRetryable("no");
    };
    await world.start("o-1");
    const app = world.console();
    assert.doesNotMatch(await (await app.request("/executions/o-1")).text(), /id="operations"/);
    const response = await app.request("/api/executions/o-1/retry", posted({ reason: "the shelf was filled" }));
    assert.equal(response.status, 200);
    const page = await (await app.request("/executions/o-1")).text();
    const operations = /aria-labelledby="operations".*?<\/section>/s.exec(page)![0];
    assert.match(operations, />retry<\/td><td>ann<\/td><td>the shelf was filled<\/td>/);
  }));
