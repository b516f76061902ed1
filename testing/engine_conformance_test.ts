import { memoryStore } from "../stores/memory.ts";
import { sqliteStore } from "../stores/sqlite.ts";
import { engineConformance } from "./engine_conformance.ts";

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
