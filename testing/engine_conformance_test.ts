import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { saga } from "../src/definition/saga.ts";
import { memoryStore } from "../stores/memory.ts";
import { sqliteStore } from "../stores/sqlite.ts";
import { engineConformance } from "./engine_conformance.ts";
import { rejects } from "./engine_conformance/suite.ts";
import { World } from "./engine_conformance/world.ts";

engineConformance((name, run) => Deno.test(`engine on memory: ${name}`, run), {
  openStore: (clock) => {
    const store = memoryStore({ clock });
    return Promise.resolve({ store, close: () => store.close() });
  },
  transactional: false,
});

engineConformance((name, run) => Deno.test(`engine on sqlite: ${name}`, run), {
  async openStore(clock) {
    const folder = await Deno.makeTempDir();
    const options = { path: `${folder}/saga.db`, synchronous: "NORMAL", clock } as const;
    const [store, second, observer] = [sqliteStore(options), sqliteStore(options), sqliteStore(options)];
    return {
      store,
      second,
      observer,
      async close() {
        await Promise.all([store.close(), second.close(), observer.close()]);
        await Deno.remove(folder, { recursive: true });
      },
    };
  },
  transactional: true,
  hasSecond: true,
});

Deno.test("engine on sqlite: G13 a file that cannot grow refuses clearly, and what is open is recorded once it can", async () => {
  const folder = await Deno.makeTempDir();
  const database = new DatabaseSync(`${folder}/saga.db`);
  const world = await World.open((clock) => {
    const store = sqliteStore({ database, clock });
    return Promise.resolve({ store, close: () => store.close() });
  }, false);
  let runs = 0;
  const definition = saga<{ text?: string }>("full").step("a", async () => {
    runs++;
    await world.gate("a").pass();
    return { text: "x".repeat(200_000) };
  });
  const { id, node } = await world.begin(definition);
  await world.gate("a").arrived();
  const pages = database.prepare("pragma page_count").get()?.page_count;
  database.exec(`pragma max_page_count = ${pages}`);
  const start = node.engine.start(definition, { input: { text: "x".repeat(200_000) } });
  await rejects(world.until(start), "store_full");
  world.gate("a").open();
  await world.advance("1m");
  assert.equal((await world.execution(id)).status, "running");
  database.exec("pragma max_page_count = 1000000");
  await world.ended(id);
  assert.deepEqual([runs, await world.attempts(id)], [1, ["a#1 succeeded"]]);
  await world.close();
  database.close();
  await Deno.remove(folder, { recursive: true });
});
