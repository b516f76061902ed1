import { queryConformance } from "../testing/query_conformance.ts";
import { sqliteStore } from "./sqlite.ts";

queryConformance((name, run) => Deno.test(`sqlite: queries: ${name}`, run), {
  async open() {
    const folder = await Deno.makeTempDir();
    const options = { path: `${folder}/saga.db`, synchronous: "NORMAL" } as const;
    const [first, second] = [sqliteStore(options), sqliteStore(options)];
    return {
      first,
      second,
      async close() {
        await first.close();
        await second.close();
        await Deno.remove(folder, { recursive: true });
      },
    };
  },
});
