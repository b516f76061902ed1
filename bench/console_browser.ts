/** What the console costs a browser: the first paint, what is loaded for it, and the main thread from then on. */

import type { Browser, Page } from "playwright-core";
import { Engine } from "../src/engine/engine.ts";
import type { Store } from "../src/store.ts";
import { chromiumPath } from "../tools/chromium.ts";
import { makeWorld } from "../tools/web_demo/world.ts";
import { launch, watchedPage } from "../web/fixtures/browser.ts";
import { PACKED_ASSETS } from "../web/generated/assets.ts";
import { type ConsoleApp, webConsole } from "../web/mod.ts";
import { median, rounded } from "./statistics.ts";

const KIB = 1_024;
const MOST_LOADS = 20;
/** Long enough for a few refreshes. */
const MOST_WATCHED_MS = 20_000;
const DEMO_STARTS = 3;

/** Something that is measured at once, and how much of it there may be. */
export interface Measured {
  readonly name: string;
  /** Of what there are so many: `ms`, `bytes`, `requests` or `percent`. */
  readonly unit: string;
  readonly bar: number;
  /** Whether it depends on the store, and a slower one may have twice as much. */
  readonly isOfStore?: boolean;
  value(): Promise<number>;
}

/** Where the pages are measured: a store whose clock is told what time it is. */
export interface BrowserSources {
  readonly store: Store;
  /** Lets one interval go by, in the eyes of the store. */
  tick(): number;
  /** How often questions are asked; fewer than twenty make everything here shorter, too. */
  readonly rounds: number;
}

/** All that is measured with a browser, and what it loads; `close` ends the browser. */
export function consoleInBrowser(sources: BrowserSources): {
  readonly measured: readonly Measured[];
  close(): Promise<void>;
} {
  const { rounds } = sources;
  let browser: Promise<Browser> | null = null;
  const launched = () => browser ??= launch();
  let heavy: Promise<LeftOpen> | null = null;
  // For two figures.
  const badDay = () => heavy ??= onBadDay(async (url) => await leftOpen(await launched(), { url, rounds }));
  const files = [
    { name: "assets.script", unit: "bytes", bar: 40 * KIB, value: packed("console.js", "theme.js") },
    { name: "assets.style", unit: "bytes", bar: 12 * KIB, value: packed("console.css") },
  ];
  const demo = [
    { name: "web_demo.start", unit: "ms", bar: 3_000, value: () => demoStarts(false, rounds) },
    { name: "web_demo.start_heavy", unit: "ms", bar: 3_000, value: () => demoStarts(true, rounds) },
  ];
  if (chromiumPath() === null) {
    console.error("bench: there is no Chromium, so page.… is left out; LEVERET_CHROMIUM may say where it is");
    return { measured: [...files, ...demo], close: () => Promise.resolve() };
  }
  return {
    measured: [
      ...files,
      {
        name: "page.first_paint",
        unit: "ms",
        bar: 250,
        isOfStore: true,
        value: async () => await firstPaint(await launched(), sources),
      },
      {
        name: "page.requests",
        unit: "requests",
        bar: 6,
        value: async () => (await cold(await launched(), sources)).length,
      },
      {
        name: "page.bytes",
        unit: "bytes",
        bar: 150 * KIB,
        value: async () => (await cold(await launched(), sources)).reduce((sum, bytes) => sum + bytes, 0),
      },
      {
        name: "page.main_thread.idle",
        unit: "percent",
        bar: 1,
        value: async () =>
          (await onServer(sources.store, async (url) => await leftOpen(await launched(), { url, rounds }))).percent,
      },
      {
        name: "page.main_thread.heavy",
        unit: "percent",
        bar: 8,
        value: async () => (await badDay()).percent,
      },
      { name: "page.changed.heavy", unit: "bytes", bar: 4 * KIB, value: async () => (await badDay()).largestBytes },
      ...demo,
    ],
    close: async () => await (await browser)?.close(),
  };
}

function packed(...names: readonly string[]): () => Promise<number> {
  const files = PACKED_ASSETS.filter(({ name }) => names.includes(name));
  const bytes = files.reduce((sum, { gzipped, plain }) => sum + atob(gzipped ?? plain).length, 0);
  return () => Promise.resolve(bytes);
}

/** The median of the times from asking for the map to its paint, each in a browser's process that has kept nothing. */
async function firstPaint(browser: Browser, { store, tick, rounds }: BrowserSources): Promise<number> {
  return await onServer(store, async (url) => {
    const times: number[] = [];
    // The first ones find the server cold.
    for (let load = -3; load < Math.min(rounds, MOST_LOADS); load++) {
      tick();
      const { page, context } = await watchedPage(browser);
      const response = await page.goto(url);
      if (!/class="line/.test(await response!.text())) {
        throw new Error("Cannot measure the first paint: no line is drawn");
      }
      const time = await paintOf(page);
      if (load >= 0) times.push(time);
      await context.close();
    }
    return rounded(median(times));
  });
}

/** When something could be seen first. What the server has drawn is seen at once, and all of it. */
function paintOf(page: Page): Promise<number> {
  return page.evaluate(() =>
    new Promise<number>((resolve) => {
      new PerformanceObserver((list) => {
        const paint = list.getEntriesByName("first-contentful-paint")[0];
        if (paint !== undefined) resolve(paint.startTime);
      }).observe({ type: "paint", buffered: true });
    })
  );
}

/** The bytes of each answer that a browser with nothing kept needs for the map. */
async function cold(browser: Browser, { store, tick }: BrowserSources): Promise<readonly number[]> {
  return await onServer(store, async (url) => {
    tick();
    const { page, context, requests } = await watchedPage(browser);
    await page.goto(url, { waitUntil: "networkidle" });
    const needed = requests.filter(({ path }) => !path.startsWith("/api/"));
    for (let wait = 0; wait < 50 && needed.some(({ bytes }) => bytes === 0); wait++) await page.waitForTimeout(20);
    await context.close();
    return needed.map(({ bytes }) => bytes);
  });
}

/** What a map has come to that was left open for a while. */
interface LeftOpen {
  /** Of the main thread's time. */
  readonly percent: number;
  /** Of the largest refresh, as it came. */
  readonly largestBytes: number;
}

async function leftOpen(
  browser: Browser,
  { url, rounds }: { readonly url: string; readonly rounds: number },
): Promise<LeftOpen> {
  const { page, context } = await watchedPage(browser);
  await page.goto(url, { waitUntil: "networkidle" });
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const busySeconds = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")!.value;
  };
  await page.waitForTimeout(2_000);
  const [begin, before] = [performance.now(), await busySeconds()];
  await page.waitForTimeout(Math.min(rounds * 1_000, MOST_WATCHED_MS));
  const busyMs = (await busySeconds() - before) * 1_000;
  const percent = rounded(100 * busyMs / (performance.now() - begin));
  const sizes = await page.evaluate(() =>
    performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/recent"))
      .map((entry) => (entry as unknown as { readonly encodedBodySize: number }).encodedBodySize)
  );
  await context.close();
  return { percent, largestBytes: Math.max(0, ...sizes) };
}

/** The demo's bad day, going on. */
async function onBadDay<T>(section: (url: string) => Promise<T>): Promise<T> {
  const world = await makeWorld({ days: 7, isHeavy: true });
  world.live();
  try {
    return await served(webConsole(world.engine, { authorize: () => true }), section);
  } finally {
    await world.close();
  }
}

async function onServer<T>(store: Store, section: (url: string) => Promise<T>): Promise<T> {
  const engine = new Engine({ store, definitions: [] });
  try {
    return await served(webConsole(engine, { authorize: () => true }), section);
  } finally {
    await engine.close();
  }
}

async function served<T>(app: ConsoleApp, section: (url: string) => Promise<T>): Promise<T> {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, app.fetch);
  try {
    return await section(`http://127.0.0.1:${server.addr.port}/`);
  } finally {
    await server.shutdown();
  }
}

/** The middle one of a few starts. */
async function demoStarts(isHeavy: boolean, rounds: number): Promise<number> {
  const times: number[] = [];
  for (let start = 0; start < Math.min(rounds, DEMO_STARTS); start++) times.push(await demoStart(isHeavy));
  return rounded(median(times));
}

/** From the start of the process to the line that says where the console is. */
async function demoStart(isHeavy: boolean): Promise<number> {
  const begin = performance.now();
  const demo = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", new URL("../tools/web_demo.ts", import.meta.url).href],
    env: { PORT: "0", HOST: "127.0.0.1", NO_COLOR: "1", ...(isHeavy ? { HEAVY: "1" } : {}) },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    signal: AbortSignal.timeout(60_000),
  }).spawn();
  try {
    const output = demo.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value = "" } = await output.read();
    if (!value.includes("http://")) throw new Error(`Cannot measure the demo: it says "${value}"`);
    const tookMs = performance.now() - begin;
    await output.cancel();
    return tookMs;
  } finally {
    demo.kill();
    await demo.status;
  }
}
