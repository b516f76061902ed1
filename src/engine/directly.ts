/** What the engine's own code returns as a step: an outcome as it is. */

import type { Outcome } from "../domain/outcome.ts";

/** An outcome that is not to be looked at any further. */
export class Directly {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    this.outcome = outcome;
  }
}
