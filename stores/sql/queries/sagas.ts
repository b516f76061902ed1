/** The names of all sagas, without a look at all executions. */

import type { Dialect } from "../dialect.ts";
import type { Steps } from "../work.ts";
import { ask } from "./asking.ts";
import { sql } from "./fragment.ts";

/** All sagas of which there is an execution, in the order of their names: one step into the index for each. */
export function* sagasOf(dialect: Dialect): Steps<readonly string[]> {
  const rows = yield* ask(
    dialect,
    sql`with recursive sagas (name) as (
      select min(saga_name) from saga_executions
      union all
      select (select min(saga_name) from saga_executions where saga_name > sagas.name) from sagas
      where sagas.name is not null
    ) select name from sagas where name is not null order by name`,
  );
  return rows.map((row) => String(row.name));
}
