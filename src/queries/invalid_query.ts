/** The error that refuses what a query is told. */

import { SagaError, show } from "../errors.ts";

/** Refuses a value. The advice says what to do: "use a whole number from 1 to 1000". */
export function invalidQuery(path: string, value: unknown, advice: string): SagaError {
  return new SagaError("invalid_query", `Cannot query: ${path} is ${show(value)}; ${advice}`, { details: { path } });
}
