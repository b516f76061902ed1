import { memoryStore } from "@leveret/saga/memory";
import { queryConformance, storeConformance } from "@leveret/saga/testing";
import { test } from "node:test";

function open() {
  const store = memoryStore();
  return Promise.resolve({ first: store, second: store, close: () => store.close() });
}

storeConformance((name, run) => void test(`memoryStore() ${name}`, run), { open, transactional: false });
queryConformance((name, run) => void test(`memoryStore().queries: ${name}`, run), { open });
