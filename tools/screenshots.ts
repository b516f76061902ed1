/**
 * `deno task screenshots`: pictures of every screen of the console into `tmp/screenshots`, light and dark, wide and
 * narrow, on a quiet day and a bad one. For people to look at. With names of screens only these; with `--docs` those of
 * the documentation are made anew.
 */

import type { Page } from "playwright-core";
import { launch } from "../web/fixtures/browser.ts";
import { webConsole } from "../web/mod.ts";
import { makeWorld } from "./web_demo/world.ts";

const FOLDER = "tmp/screenshots";
/** Pictures of the documentation: what is seen without scrolling. */
const PICTURES: Readonly<Record<string, string>> = {
  bad_map_light_wide: "docs/console_map.png",
  bad_executions_dark_wide: "docs/console_executions.png",
  quiet_workflow_light_wide: "docs/console_execution.png",
  bad_map_dark_narrow: "docs/console_phone.png",
};
const SIZES = { wide: { width: 1366, height: 768 }, narrow: { width: 390, height: 844 } } as const;
/** What is looked at. An execution that runs does so for a few seconds only: it is looked for anew each time. */
async function screensOf(find: (q: string) => Promise<string>): Promise<Readonly<Record<string, string>>> {
  return {
    map: "",
    map_7d: "?range=7d",
    executions: "executions",
    filtered: "executions?q=status:compensated+error:HttpError&sort=-took",
    nothing_found: "executions?q=saga:nobody",
    wrong_filter: "executions?q=colour:red",
    compensated: `executions/${await find("status:compensated+error:HttpError")}`,
    running: `executions/${await find("status:running+saga:orders.checkout")}`,
    workflow: `executions/${await find("saga:trips.book+status:completed+error:NoSeats")}`,
    waiting: `executions/${await find("step:confirmed+status:running")}`,
    stalled: `executions/${await find("stalled")}`,
    confirm: `executions/${await find("step:confirmed+status:running")}/compensate`,
    bulk: "bulk?action=retry&q=status:failed",
    doctor: "doctor",
  };
}

/** What is seen only after something was done, by the screen on which it is done. */
const MOMENTS: Readonly<Record<string, { readonly on: string; readonly act: (page: Page) => Promise<unknown> }>> = {
  dialog: { on: "running", act: (page) => confirm(page, "[aria-label=Actions] a:first-child") },
  dialog_signal: { on: "waiting", act: (page) => confirm(page, "[aria-label=Actions] a:has-text('Send')") },
  keys: { on: "map", act: (page) => page.keyboard.press("?") },
  completion: {
    on: "executions",
    async act(page) {
      await page.keyboard.press("/");
      await page.keyboard.type("status:");
      await page.waitForSelector("#completions:not([hidden])");
    },
  },
  ticked: {
    on: "filtered",
    act: (page) => page.click("tbody tr:nth-child(2) input"),
  },
  table: { on: "map", act: (page) => page.click("text=As a table") },
  backtrace: { on: "compensated", act: (page) => page.click("text=Backtrace") },
  unreachable: {
    on: "map",
    async act(page) {
      await page.route("**/api/**", (route) => route.abort());
      await page.waitForSelector(".fresh.warn", { timeout: 20_000 });
    },
  },
};

/** Once the page is alive, the way to an action leads to a dialog. */
async function confirm(page: Page, action: string): Promise<void> {
  await page.waitForSelector(".replay, button:has-text('Copy as JSON')");
  await page.click(action);
  await page.waitForSelector("dialog[open]");
}

if (import.meta.main) {
  const isForDocs = Deno.args.includes("--docs");
  const named = Deno.args.filter((arg) => !arg.startsWith("--"));
  await Deno.mkdir(FOLDER, { recursive: true });
  const browser = await launch();
  for (const day of ["quiet", "bad"] as const) {
    const world = await makeWorld({ days: 7, isHeavy: day === "bad" });
    world.live();
    const app = webConsole(world.engine, { authorize: () => true });
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, app.fetch);
    const find = async (q: string) => {
      const rows: readonly { readonly id: string }[] = await (await app.request(`/executions.json?q=${q}`)).json();
      return rows[0]?.id ?? "none";
    };
    for (const [size, viewport] of Object.entries(SIZES)) {
      for (const theme of ["light", "dark"] as const) {
        const screens = await screensOf(find);
        const context = await browser.newContext({ viewport, colorScheme: theme });
        const page = await context.newPage();
        const shots = [
          ...Object.keys(screens).map((name) => ({ name, on: name, act: null })),
          ...Object.entries(MOMENTS).map(([name, moment]) => ({ name, ...moment })),
        ];
        for (const { name, on, act } of shots) {
          const picture = PICTURES[`${day}_${name}_${theme}_${size}`];
          if (isForDocs && picture === undefined) continue;
          if (named.length > 0 && !named.includes(name)) continue;
          await page.goto(`http://127.0.0.1:${server.addr.port}/${screens[on]}`);
          await page.waitForLoadState("load");
          await page.waitForSelector("[data-theme-picker]:not([hidden])");
          await page.evaluate(() => document.fonts.ready.then(() => {}));
          try {
            await act?.(page);
          } catch (error) {
            console.error(`${day} ${name} ${theme} ${size} is left out: ${error}`);
            continue;
          }
          await page.screenshot(
            isForDocs ? { path: picture! } : {
              path: `${FOLDER}/${day}_${name}_${theme}_${size}.png`,
              fullPage: name !== "executions" && !name.startsWith("dialog") && name !== "keys",
            },
          );
          await page.unrouteAll();
        }
        await context.close();
      }
    }
    await server.shutdown();
    await world.close();
  }
  await browser.close();
  console.log(`The pictures are in ${isForDocs ? "docs" : FOLDER}`);
}
