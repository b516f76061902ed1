import { Engine, saga } from "@leveret/saga";
import { sqliteStore } from "@leveret/saga/sqlite";
import { type Shop, shop } from "@leveret/saga/testing";
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const checkout = saga<{ order: string; card: string }, { shop: Shop }>("orders.checkout")
  .step("reserve", {
    run: ({ context, resources, key }) => ({ reservation: resources.shop.perform(key, `reserve ${context.order}`) }),
    undo: ({ resources, stepKey }) => resources.shop.takeBack(stepKey),
  })
  .transaction("note", {
    run: async ({ tx, context }) => void await tx.query("insert into notes (text) values (?)", [context.order]),
  })
  .step("charge", ({ context, fail }) => context.card === "declined" ? fail("The card was declined") : { paid: true });

test("a checkout on SQLite ends completed, or undone", async () => {
  const dir = await mkdtemp(join(tmpdir(), "leveret-"));
  const store = sqliteStore({ path: join(dir, "sagas.sqlite") });
  await store.transaction(({ tx }) => tx.query("create table notes (text text)"));
  const resources = { shop: shop() };
  const engine = new Engine({ store, definitions: [checkout], resources });
  engine.work();

  const good = await engine.start(checkout, { input: { order: "1", card: "good" } });
  const bad = await engine.start(checkout, { input: { order: "2", card: "declined" } });
  assert.equal((await engine.wait(good.execution.id)).status, "completed");
  const undone = await engine.wait(bad.execution.id);
  assert.equal(undone.status, "compensated");
  assert.equal(undone.failure?.message, "The card was declined");
  assert.deepEqual(resources.shop.standing.map((entry) => entry.what), ["reserve 1"]);
  const notes = await store.transaction(({ tx }) => tx.query("select text from notes order by text"));
  assert.deepEqual(notes, [{ text: "1" }, { text: "2" }]);

  await engine.close();
  await store.close();
  await rm(dir, { recursive: true });
});
