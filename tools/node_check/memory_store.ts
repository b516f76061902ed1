import { memoryStore } from "@leveret/saga/memory";
import { storeConformance } from "@leveret/saga/testing";
import { test } from "node:test";

storeConformance((name, run) => void test(`memoryStore() ${name}`, run), {
  open: () => {
    const store = memoryStore();
    return Promise.resolve({ first: store, second: store, close: () => store.close() });
  },
  transactional: false,
});
