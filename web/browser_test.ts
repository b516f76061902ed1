import assert from "node:assert/strict";
import { chromiumPath } from "../tools/chromium.ts";
import { runDeno } from "../tools/process.ts";
import { leaveOut } from "../tools/suites.ts";

const SUITE = {
  name: "the console in a browser",
  needs: "Chromium, such as Debian's package",
  turnOn: "set LEVERET_CHROMIUM to the path of Chromium, if it is elsewhere",
};

const isHere = chromiumPath() !== null;
if (!isHere) leaveOut(SUITE);

const SCENES = [
  ["browser_scenes.ts", "the console works in a browser: its screens and flows"],
  ["access_scenes.ts", "everybody can use every screen: by keyboard, on a phone, zoomed in, without a script"],
  ["motion_scenes.ts", "what moves on the map moves as it should, and stands still where it should"],
] as const;

for (const [file, name] of SCENES) {
  Deno.test({
    name,
    ignore: !isHere,
    fn: async () => {
      const scenes = new URL(`./fixtures/${file}`, import.meta.url).pathname;
      const { ok, output } = await runDeno(["test", "--allow-all", "--quiet", scenes], { capture: true });
      assert.ok(ok, output);
    },
  });
}
