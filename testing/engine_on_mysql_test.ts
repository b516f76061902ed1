import { dropDatabasesAtTheEnd, freshDatabase, withMysql } from "../stores/fixtures/mysql.ts";
import { mysqlStore } from "../stores/mysql.ts";
import { engineConformance } from "./engine_conformance.ts";

withMysql("the engine on MySQL", () => {
  dropDatabasesAtTheEnd();
  engineConformance((name, run) => Deno.test(`engine on mysql: ${name}`, run), {
    async openStore(clock) {
      const { url, drop } = await freshDatabase();
      const open = () => mysqlStore({ url, clock });
      const [store, second, observer] = [open(), open(), open()];
      return {
        store,
        second,
        observer,
        async close() {
          await Promise.all([store.close(), second.close(), observer.close()]);
          await drop();
        },
      };
    },
    transactional: true,
    hasSecond: true,
    isServer: true,
  });
});
