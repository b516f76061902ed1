import { memoryStore } from "@leveret/saga/memory";
import { engineConformance } from "@leveret/saga/testing";
import { test } from "node:test";

engineConformance((name, run) => void test(`engine on memoryStore(): ${name}`, run), {
  openStore: (clock) => {
    const store = memoryStore({ clock });
    return Promise.resolve({ store, close: () => store.close() });
  },
  transactional: false,
});
