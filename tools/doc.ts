/** `deno task doc`: lints the documentation of the exported modules, and writes it as HTML if asked to. */

import { EXPORTED_FILES } from "./exports.ts";
import { runDeno } from "./process.ts";

/** What another package exports cannot be documented here; everything else has to be. */
const ALLOWED = /public type 'ConsoleApp' references private type 'Hono'/;

/** Whether all that is exported is documented; says what is not. */
export async function lintDocs(): Promise<boolean> {
  const options = { capture: true, env: { NO_COLOR: "1" } };
  const { ok, output } = await runDeno(["doc", "--lint", ...EXPORTED_FILES], options);
  if (ok) return true;
  const wrong = output.split("\n").filter((line) => /^error\[/.test(line) && !ALLOWED.test(line));
  if (wrong.length === 0 && /documentation lint error/.test(output)) return true;
  console.error(output);
  return false;
}

if (import.meta.main) {
  if (!await lintDocs()) Deno.exit(1);
  if (Deno.args.includes("--html")) {
    const html = await runDeno(["doc", "--html", "--name=Leveret", "--output=tmp/docs", ...EXPORTED_FILES]);
    Deno.exit(html.ok ? 0 : 1);
  }
}
