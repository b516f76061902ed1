/** In which order the map says what it says, and how it compares today with yesterday. */

import assert from "node:assert/strict";
import { Engine, NonRetryable, saga } from "../mod.ts";
import { arrange, withIds } from "../testing/query_conformance/suite.ts";
import { inWorld, type TestWorld } from "./fixtures/world.ts";
import { webConsole } from "./mod.ts";
import type { MapModel } from "./view/model.ts";

const HOUR = 3_600_000;

async function mapOf(world: TestWorld, engine: Engine = world.engine as unknown as Engine): Promise<MapModel> {
  return await (await webConsole(engine, { authorize: () => true }).request("/map.json")).json();
}

Deno.test("lines that fail stand before lines that are stuck, these before those that are calm, and these by name", () =>
  inWorld(async (world) => {
    const late = { wakeAt: world.clock.now() - HOUR, dueAt: world.clock.now() - HOUR };
    await arrange(
      world.store,
      ...withIds(["stuck"], { execution: { sagaName: "c.stuck", ...late } }),
      ...withIds(["calm"], { execution: { sagaName: "b.calm", status: "completed", finishedAt: world.clock.now() } }),
      ...withIds(["calm too"], {
        execution: { sagaName: "a.calm", status: "completed", finishedAt: world.clock.now() },
      }),
    );
    world.reserve = () => {
      throw new NonRetryable("no");
    };
    await world.start("fails");
    const { lines } = await mapOf(world);
    assert.deepEqual(lines.map(({ saga }) => saga), ["orders.checkout", "c.stuck", "a.calm", "b.calm"]);
  }));

Deno.test("of two lines that failed as often the one that failed last stands first", () =>
  inWorld(async (world) => {
    const fails = (name: string) =>
      saga(name).step("only", () => {
        throw new NonRetryable("no");
      });
    const [first, second] = [fails("a.first"), fails("z.second")];
    const engine = new Engine({ store: world.store, definitions: [first, second], clock: world.clock });
    engine.work({ name: "w-2" });
    for (let made = 0; made < 4; made++) await engine.start(first, { input: {} });
    await world.clock.advance(50 * 60_000);
    for (let made = 0; made < 4; made++) await engine.start(second, { input: {} });
    await world.clock.advance(1_000);
    const { lines } = await mapOf(world, engine as unknown as Engine);
    assert.deepEqual(lines.slice(0, 2).map(({ saga }) => saga), ["z.second", "a.first"]);
    const closing = engine.close({ deadline: 1 });
    await world.clock.advance(60_000);
    await closing;
  }));

Deno.test("the chart has what ended in the same time of the day before, beside what ended in it", () =>
  inWorld(async (world) => {
    world.reserve = () => {
      throw new NonRetryable("no");
    };
    for (const id of ["yesterday-1", "yesterday-2"]) await world.start(id);
    await world.clock.advance("1d");
    await world.start("today");
    const { throughput } = await mapOf(world);
    const sum = (key: "failed" | "before") => throughput.buckets.reduce((all, bucket) => all + bucket[key], 0);
    assert.deepEqual([sum("failed"), sum("before")], [1, 2]);
    const page = await (await world.console().request("/")).text();
    assert.match(page, />2 at the same time a day before</);
    assert.match(page, /<path class="area"/);
  }));

Deno.test("the key says which tokens are drawn, and what the ruler means", () =>
  inWorld(async (world) => {
    const page = await (await world.console().request("/")).text();
    const key = /<ul class="key".*?<\/ul>/s.exec(page)![0];
    assert.match(key, /drawn: the oldest, then a sample/);
    assert.match(key, /median, 95 %, overdue/);
  }));

Deno.test("a group of failures has its first and last time, how often, and a sparkline that adds up to it", () =>
  inWorld(async (world) => {
    world.reserve = () => {
      throw new NonRetryable("HTTP 502");
    };
    await world.start("o-1");
    await world.clock.advance(20 * 60_000);
    await world.start("o-2");
    const { groups: [group] } = await mapOf(world);
    assert.deepEqual([group!.occurrences, group!.spark.reduce((all, value) => all + value, 0)], [2, 2]);
    assert.equal(group!.lastAt - group!.firstAt, 20 * 60_000 + 10_000);
    const page = await (await world.console().request("/")).text();
    assert.match(page, /12:00<div class="quiet">\d+ s ago<\/div>/);
  }));

Deno.test("what failed all along is not said to have begun where the range begins", () =>
  inWorld(async (world) => {
    world.reserve = () => {
      throw new NonRetryable("HTTP 502");
    };
    const said = async () => {
      const verdict = (await mapOf(world)).verdict.parts.map(({ text }) => text).join("");
      const text = await (await world.console().request("/map.txt")).text();
      const page = await (await world.console().request("/")).text();
      return [/since [^)]*/.exec(verdict)?.[0], /since .*(?=, last)/.exec(text)?.[0], page.includes(" or before<div")];
    };
    for (let made = 0; made < 30; made++) {
      await world.clock.advance("4m");
      await world.start(`o-${made}`);
    }
    assert.deepEqual(await said(), ["since 13:06 or before", "since 13:06 or before", true]);
    await world.clock.advance("2h");
    for (const id of ["again-1", "again-2"]) await world.start(id);
    assert.deepEqual(await said(), ["since 16:05", "since 16:05", false]);
  }));

Deno.test("a bulk action has a limit, says so, and names why the others are left out", () =>
  inWorld(async (world) => {
    const ids = Array.from({ length: 505 }, (_, at) => `o-${at}`);
    await arrange(
      world.store,
      ...withIds(ids, { execution: { sagaName: "orders.checkout", status: "failed", finishedAt: world.clock.now() } }),
      ...withIds(["fine"], {
        execution: { sagaName: "orders.checkout", status: "completed", finishedAt: world.clock.now() },
      }),
    );
    const page = await (await world.console().request("/bulk?action=retry")).text();
    assert.match(page, /<h1>Retry 500 executions<\/h1>/);
    assert.match(page, /The first 500 only: carry it out, then preview again\./);
    const one = await (await world.console().request("/bulk?action=retry&only=picked&id=fine&id=o-1")).text();
    assert.match(one, /Retry 1 execution</);
    assert.match(one, /1: .*completed/);
  }));
