/** Checks of what stores are told, in words that are the same for all of them. */

import { SagaError, show } from "../../src/errors.ts";

/** What checks the options of one kind of store. */
export interface OptionChecks {
  /** An error that names what is wrong. */
  invalid(what: string): SagaError;
  /** Refuses what is no object of options, and tells what would be one. */
  refuseNone(options: unknown, advice: string): void;
  /** Refuses options that there are none of; `unknown` is what is left of them when the known ones are taken out. */
  refuseUnknown(unknown: object): void;
  /** How many rows at most. A negative limit would mean "all" to SQLite, and is an error elsewhere. */
  limit(limit: number): number;
}

/** The checks for a store, by its name in messages: "the MySQL store". */
export function optionChecks(store: string): OptionChecks {
  const invalid = (what: string) => new SagaError("invalid_options", `Cannot use ${store}: ${what}`);
  return {
    invalid,
    refuseNone(options, advice) {
      if (typeof options === "object" && options !== null) return;
      // A URL in its place may hold a password.
      throw invalid(`${typeof options === "string" ? "a text" : show(options)} is no object of options; ${advice}`);
    },
    refuseUnknown(unknown) {
      const [key] = Object.keys(unknown);
      if (key !== undefined) throw invalid(`there is no option ${show(key)}`);
    },
    limit(limit) {
      if (Number.isSafeInteger(limit) && limit >= 1) return limit;
      throw invalid(`limit: ${show(limit)} is no whole number from 1`);
    },
  };
}
