import { sqliteStore } from "@leveret/saga/sqlite";
import { engineConformance } from "@leveret/saga/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

engineConformance((name, run) => void test(`engine on sqliteStore(): ${name}`, run), {
  async openStore(clock) {
    const dir = await mkdtemp(join(tmpdir(), "leveret-"));
    const open = () => sqliteStore({ path: join(dir, "sagas.sqlite"), synchronous: "NORMAL", clock });
    const [store, second, observer] = [open(), open(), open()];
    return {
      store,
      second,
      observer,
      async close() {
        await Promise.all([store.close(), second.close(), observer.close()]);
        await rm(dir, { recursive: true });
      },
    };
  },
  transactional: true,
  hasSecond: true,
});
