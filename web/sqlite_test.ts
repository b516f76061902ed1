import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { Engine, NonRetryable, saga } from "../mod.ts";
import { sqliteStore } from "../stores/sqlite.ts";
import { webConsole } from "./mod.ts";
import type { DetailModel, ListModel, MapModel } from "./view/model.ts";

Deno.test("webConsole() on sqliteStore() shows every screen, and nothing that could not be read", async () => {
  const dir = await Deno.makeTempDir({ prefix: "leveret-test-" });
  const store = sqliteStore({ path: `${dir}/sagas.sqlite` });
  const order = saga<{ order: string }>("orders.checkout")
    .step("reserve", { run: () => ({ reservation: "R-1" }), undo: () => {} })
    .step("charge", () => {
      throw new NonRetryable("HTTP 402");
    });
  const engine = new Engine({ store, definitions: [order] });
  engine.work();
  try {
    await engine.start(order, { id: "o-1", input: { order: "o-1" }, resource: { type: "Order", id: "o-1" } });
    await engine.wait("o-1");
    const app = webConsole(engine, { authorize: () => true });
    const read = async <Model>(path: string): Promise<Model> => {
      const response = await app.request(path);
      assert.equal(response.status, 200, path);
      return await response.json();
    };
    const map = await read<MapModel>("/map.json");
    assert.deepEqual([map.troubles, map.groups.map(({ occurrences }) => occurrences)], [[], [1]]);
    const list = await read<ListModel>(`/api/${map.groups[0]!.href}`);
    assert.deepEqual(list.rows.map(({ id, status }) => [id, status]), [["o-1", "compensated"]]);
    const found = await read<ListModel>("/api/executions?q=ctx.order:o-1+resource:Order/o-1+step:reserve");
    assert.equal(found.rows.length, 1);
    const { attempts, troubles } = await read<DetailModel>("/api/executions/o-1");
    assert.deepEqual([troubles, attempts.map(({ status }) => status)], [[], ["succeeded", "failed", "succeeded"]]);
    for (const path of ["/", "/executions", "/executions/o-1", "/doctor", "/bulk?action=retry"]) {
      assert.equal((await app.request(path)).status, 200, path);
    }
  } finally {
    await engine.close();
    await store.close();
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("the doctor names an index that is missing", async () => {
  const dir = await Deno.makeTempDir({ prefix: "leveret-test-" });
  const path = `${dir}/sagas.sqlite`;
  const store = sqliteStore({ path });
  const engine = new Engine({ store, definitions: [] });
  try {
    const doctor = async () =>
      await (await webConsole(engine, { authorize: () => true }).request("/doctor.txt")).text();
    assert.match(await doctor(), /works +Indexes +all are there/);
    const database = new DatabaseSync(path);
    database.exec("drop index saga_executions_ended");
    database.close();
    assert.match(await doctor(), /LOOK HERE +Indexes +missing: saga_executions_ended; migrate/);
  } finally {
    await engine.close();
    await store.close();
    await Deno.remove(dir, { recursive: true });
  }
});
