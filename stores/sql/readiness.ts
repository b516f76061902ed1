/** Whether a store can be used: its tables are there, and nobody has closed it. */

import { SagaError } from "../../src/errors.ts";

/** What has to be known of a store. */
export interface ReadinessOptions {
  /** The store in messages, as in "the MySQL store". */
  readonly store: string;
  /** The database in messages. */
  readonly where: string;
  /** Whether tables are missing, or older than this code; throws if they are newer. */
  isPending(): Promise<boolean>;
}

/** Knows whether a store can be used. */
export class Readiness {
  readonly #options: ReadinessOptions;
  #checked: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Checks once that the tables are there, and none of another age. */
  check(): Promise<void> {
    this.refuseClosed();
    this.#checked ??= this.#look().catch((error) => {
      this.#checked = null;
      throw error;
    });
    return this.#checked;
  }

  /** Looks again at the next check. */
  forget(): void {
    this.#checked = null;
  }

  /** From now on the store can be used no more. */
  close(): void {
    this.#isClosed = true;
  }

  refuseClosed(): void {
    if (this.#isClosed) {
      throw new SagaError("closed", `Cannot use ${this.#options.store}: it was closed, so open another one`);
    }
  }

  async #look(): Promise<void> {
    if (!await this.#options.isPending()) return;
    throw new SagaError(
      "schema_missing",
      `Cannot use ${this.#options.where}: its tables are missing or older than this code; call migrate() once before`,
    );
  }
}
