import { storeConformance, type StorePair } from "../testing/store_conformance.ts";
import { sqliteStore } from "./sqlite.ts";

async function openPair(): Promise<StorePair> {
  const folder = await Deno.makeTempDir();
  const [first, second] = [1, 2].map(() => sqliteStore({ path: `${folder}/saga.db`, synchronous: "NORMAL" }));
  return {
    first: first!,
    second: second!,
    async close() {
      await first!.close();
      await second!.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

storeConformance((name, run) => Deno.test(`sqlite: ${name}`, run), {
  open: openPair,
  transactional: true,
  refusesCallsInside: true,
  conflict: () => Object.assign(new Error("database is locked"), { code: "ERR_SQLITE_ERROR", errcode: 5 }),
});
