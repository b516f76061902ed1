import { memoryStore } from "./memory.ts";
import { storeConformance } from "../testing/store_conformance.ts";

storeConformance((name, run) => Deno.test(`memory: ${name}`, run), {
  open: () => {
    const store = memoryStore();
    return Promise.resolve({ first: store, second: store, close: () => store.close() });
  },
  transactional: false,
});
