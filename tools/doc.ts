/** `deno task doc`: lints the documentation of the exported modules, and writes it as HTML if asked to. */

import { EXPORTED_FILES } from "./exports.ts";
import { runDeno } from "./process.ts";

const { ok } = await runDeno(["doc", "--lint", ...EXPORTED_FILES]);
if (!ok) Deno.exit(1);
if (Deno.args.includes("--html")) {
  const html = await runDeno(["doc", "--html", "--name=Leveret", "--output=tmp/docs", ...EXPORTED_FILES]);
  Deno.exit(html.ok ? 0 : 1);
}
