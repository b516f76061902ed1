import assert from "node:assert/strict";
import { runDeno } from "../tools/process.ts";
import { ASSETS_DIGEST, PACKED_ASSETS } from "./generated/assets.ts";

const KIB = 1_024;

function size(name: string): number {
  const asset = PACKED_ASSETS.find((one) => one.name === name)!;
  return atob(asset.gzipped ?? asset.plain).length;
}

Deno.test("the script takes at most 40 KiB, packed, and the style sheet 12", () => {
  assert.ok(size("console.js") + size("theme.js") <= 40 * KIB, `${size("console.js")} bytes`);
  assert.ok(size("console.css") <= 12 * KIB, `${size("console.css")} bytes`);
});

Deno.test("the packed files are those that are served plain", async () => {
  for (const { name, plain, gzipped } of PACKED_ASSETS) {
    if (gzipped === null) continue;
    const bytes = Uint8Array.from(atob(gzipped), (letter) => letter.charCodeAt(0));
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    assert.deepEqual(
      new Uint8Array(await new Response(unpacked).arrayBuffer()),
      Uint8Array.from(atob(plain), (letter) => letter.charCodeAt(0)),
      name,
    );
  }
});

Deno.test("the font comes with its licence", () => {
  const licence = PACKED_ASSETS.find(({ name }) => name === "overpass_license.txt")!;
  assert.match(atob(licence.plain), /SIL Open Font License, Version 1\.1/);
});

Deno.test("the style sheet has no end that never comes, and names nothing from elsewhere", () => {
  const css = atob(PACKED_ASSETS.find(({ name }) => name === "console.css")!.plain);
  assert.doesNotMatch(css, /infinite|@import|https?:|data:/);
  assert.equal(css.split("{").length, css.split("}").length);
});

Deno.test("web/generated/assets.ts is what its sources give", async () => {
  const script = new URL("../tools/assets.ts", import.meta.url).pathname;
  const { ok, output } = await runDeno(["run", "--allow-all", script, "--check"], { capture: true });
  assert.ok(ok, output);
  assert.match(ASSETS_DIGEST, /^[0-9a-f]{16}$/);
});
