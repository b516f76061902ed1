/** Checks what `migrate()` of any store is told. */

import { SagaError, show } from "../src/errors.ts";
import type { MigrateOptions } from "../src/store.ts";

/** To where the tables are brought, with nothing left open. */
export type Destination = Required<MigrateOptions>;

/**
 * The destination that the options name, where `newest` is the newest version there is.
 *
 * @throws `invalid_options`
 */
export function destinationOf(options: MigrateOptions | undefined, newest: number): Destination {
  if (options !== undefined && (typeof options !== "object" || options === null)) {
    throw invalid(`${show(options)} is no object of options; name a version, as in { target: ${newest} }`);
  }
  const { target = newest, discardUnfinished = false, ...unknown } = options ?? {};
  const [unknownKey] = Object.keys(unknown);
  if (unknownKey !== undefined) throw invalid(`there is no option ${show(unknownKey)}`);
  if (!Number.isSafeInteger(target) || target < 0 || target > newest) {
    throw invalid(`target: ${show(target)} is no version from 0 to ${newest}`);
  }
  if (typeof discardUnfinished !== "boolean") {
    throw invalid(`discardUnfinished: ${show(discardUnfinished)} is neither true nor false`);
  }
  return { target, discardUnfinished };
}

/** Refuses a way back that would lose `count` unfinished executions, `example` among them. */
export function refuseUnfinished(target: number, count: number, example: string): never {
  const are = count === 1 ? "1 execution is" : `${count} executions are`;
  throw new SagaError(
    "schema_in_use",
    `Cannot take the tables back to version ${target}: ${are} unfinished, ${show(example)} among them; ` +
      "let them end, or lose them by { discardUnfinished: true }",
    { details: { executionId: example } },
  );
}

function invalid(what: string): SagaError {
  return new SagaError("invalid_options", `Cannot migrate: ${what}`);
}
