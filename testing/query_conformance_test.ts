import { queryConformance } from "./query_conformance.ts";
import { memoryStore } from "../stores/memory.ts";

queryConformance((name, run) => Deno.test(`memory: queries: ${name}`, run), {
  open: () => {
    const store = memoryStore();
    return Promise.resolve({ first: store, second: store, close: () => store.close() });
  },
});
