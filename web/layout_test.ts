import assert from "node:assert/strict";
import { chromiumPath } from "../tools/chromium.ts";
import { runDeno } from "../tools/process.ts";
import { leaveOut } from "../tools/suites.ts";

const SUITE = {
  name: "the console's layout in a browser",
  needs: "Chromium, such as Debian's package",
  turnOn: "set LEVERET_CHROMIUM to the path of Chromium, if it is elsewhere",
};

const isHere = chromiumPath() !== null;
if (!isHere) leaveOut(SUITE);

Deno.test({
  name: "the console's layout holds: what matters is seen first, long names stay inside, thumbs find what acts",
  ignore: !isHere,
  fn: async () => {
    const scenes = new URL("./fixtures/layout_scenes.ts", import.meta.url).pathname;
    const { ok, output } = await runDeno(["test", "--allow-all", "--quiet", scenes], { capture: true });
    assert.ok(ok, output);
  },
});
