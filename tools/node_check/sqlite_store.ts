import { sqliteStore } from "@leveret/saga/sqlite";
import { storeConformance } from "@leveret/saga/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

storeConformance((name, run) => void test(`sqliteStore() ${name}`, run), {
  async open() {
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
  },
  transactional: true,
  refusesCallsInside: true,
});
