import assert from "node:assert/strict";
import { leaveOut } from "../tools/suites.ts";
import { KINDS } from "./fixtures/databases.ts";
import { dumpPath, freshDump, whyLeftOut } from "./fixtures/schema_dump.ts";

for (const kind of KINDS) {
  kind.register(`the schema of ${kind.name}`, () => {
    const name = `${kind.name}: the schema is the one that is written down; deno task schema --write writes it anew`;
    const reason = whyLeftOut(kind);
    if (reason !== null) return leaveOut({ name, needs: `MariaDB; ${reason}`, turnOn: "LEVERET_MYSQL_URL" });
    Deno.test(name, async () => {
      assert.equal(await freshDump(kind), await Deno.readTextFile(dumpPath(kind.dialect)));
    });
  });
}
