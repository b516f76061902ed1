import { sqliteStore } from "@leveret/saga/sqlite";
import { queryConformance, storeConformance } from "@leveret/saga/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

async function open() {
  const dir = await mkdtemp(join(tmpdir(), "leveret-"));
  const first = sqliteStore({ path: join(dir, "sagas.sqlite") });
  const second = sqliteStore({ path: join(dir, "sagas.sqlite") });
  return {
    first,
    second,
    async close() {
      await first.close();
      await second.close();
      await rm(dir, { recursive: true });
    },
  };
}

storeConformance((name, run) => void test(`sqliteStore() ${name}`, run), {
  open,
  transactional: true,
  refusesCallsInside: true,
});
queryConformance((name, run) => void test(`sqliteStore().queries: ${name}`, run), { open });
