/** The store that a URL names. Drivers are loaded only when they are asked for. */

import { existsSync } from "node:fs";
import type { Store } from "../src/store.ts";

/** What a URL can begin with, for messages. */
export const STORE_URLS = "sqlite:<path>, postgres://… or mysql://…";

/** Opens the store, or says why not. */
export async function openStore(url: string): Promise<Store | string> {
  const scheme = url.slice(0, url.indexOf(":") + 1);
  switch (scheme) {
    case "sqlite:": {
      const path = url.slice(scheme.length);
      // It would be made, and nothing would be under way in it: a slip of the pen must not pass for a good deploy.
      if (!existsSync(path)) return `--store: there is no file ${JSON.stringify(path)}`;
      const { sqliteStore } = await import("../stores/sqlite.ts");
      return sqliteStore({ path });
    }
    case "postgres:":
    case "postgresql:": {
      const { postgresStore } = await import("../stores/postgres.ts");
      return postgresStore({ url });
    }
    case "mysql:":
    case "mariadb:": {
      const { mysqlStore } = await import("../stores/mysql.ts");
      return mysqlStore({ url: `mysql:${url.slice(scheme.length)}` });
    }
    default:
      return `--store is ${JSON.stringify(url)}; use ${STORE_URLS}`;
  }
}
