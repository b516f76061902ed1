/** What `deno.json` says of the package. */

import config from "../deno.json" with { type: "json" };

/** The modules that the package exports, from `deno.json`. */
export const EXPORTED_FILES: readonly string[] = Object.values(config.exports);
