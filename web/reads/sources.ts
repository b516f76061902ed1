/** Where the screens read from. */

import type { Engine } from "../../src/engine/engine.ts";
import type { Queries } from "../../src/queries.ts";
import type { ConsoleSettings } from "../options.ts";

/** An engine, the queries of its store, and how the console is set up. */
export interface Sources {
  readonly engine: Engine;
  readonly queries: Queries;
  readonly settings: ConsoleSettings;
}
