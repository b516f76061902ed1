/** What the console's pages ask for, over HTTP as they ask it: the answer as a whole, and how many bytes it takes. */

import { pause, systemClock } from "../src/clock.ts";
import { Engine } from "../src/engine/engine.ts";
import type { Store } from "../src/store.ts";
import { webConsole } from "../web/mod.ts";
import { renewed } from "../web/reads/renewals.ts";
import { changed, digestsOf } from "../web/view/changes.ts";
import { termsHref } from "../web/view/href.ts";
import type { MapModel, RefreshModel } from "../web/view/model.ts";

/** An address that is asked for again and again, and what the answer may take. */
export interface ApiQuestion {
  readonly name: string;
  readonly barMs: number;
  /** What comes before it is asked, and is not measured. */
  prepare?(): Promise<unknown>;
  ask(round: number): Promise<unknown>;
}

/** How many bytes an answer takes, and how many it may take; the largest of all that were asked for. */
export interface ApiSize {
  readonly name: string;
  readonly barBytes: number;
  largest(): Promise<number>;
}

/** What is asked over HTTP of a store whose clock is told what time it is. */
export interface ConsoleApi {
  readonly questions: readonly ApiQuestion[];
  readonly sizes: readonly ApiSize[];
  close(): Promise<void>;
}

/** What a page asks with. */
export interface ApiSources {
  readonly store: Store;
  readonly ids: readonly string[];
  readonly cursors: readonly string[];
  /** A group of errors, as a filter. */
  readonly group: string;
  /** Lets one interval go by, in the eyes of the store. */
  tick(): number;
}

const PACKED = { headers: { "accept-encoding": "gzip" } };
const REFRESHES = 60;
/** Between two refreshes. A page asks every five seconds; this is much less. */
const PAUSE_MS = 100;

/** The console in front of a store, asked by a page that is refreshed every five seconds. */
export function consoleApi({ store, ids, cursors, group, tick }: ApiSources): ConsoleApi {
  const engine = new Engine({ store, definitions: [] });
  const app = webConsole(engine, { authorize: () => true });
  const at = <T>(list: readonly T[], round: number) => list[round % list.length]!;

  async function get(path: string): Promise<void> {
    const response = await app.request(path, PACKED);
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`Cannot measure "${path}": it answers ${response.status}`);
  }

  const list = (name: string, query: string): ApiQuestion => ({
    name: `api.${name}`,
    barMs: 50,
    ask: () => get(`/api/executions?${query}`),
  });
  const map = (range: string): ApiQuestion => ({
    name: `api.map.${range}`,
    barMs: 60,
    prepare: settled,
    ask: async () => void (tick(), await get(`/api/map?range=${range}`)),
  });
  const page = pageOf(app, tick);

  return {
    questions: [
      list("list", ""),
      {
        name: "api.list.deep",
        barMs: 50,
        ask: (round) => get(`/api/executions?cursor=${encodeURIComponent(at(cursors, round))}`),
      },
      list("list.took", "sort=-took"),
      list("list.failed", "q=status:failed"),
      list("list.stalled", "q=stalled"),
      list("list.saga", "q=saga:billing.invoice"),
      {
        name: "api.list.group",
        barMs: 50,
        ask: () => get(`/api/${termsHref({ error: group, since: "24h" })}`),
      },
      { name: "api.execution", barMs: 30, ask: (round) => get(`/api/executions/${at(ids, round)}`) },
      map("1h"),
      map("24h"),
      map("7d"),
      {
        name: "api.recent",
        barMs: 25,
        prepare: async () => (await settled(), await page.prepare()),
        ask: () => page.ask(),
      },
    ],
    sizes: [
      { name: "api.recent.changed", barBytes: 4_096, largest: () => largest(REFRESHES, () => page.refresh()) },
      { name: "api.recent.unchanged", barBytes: 400, largest: () => page.unchanged() },
    ],
    close: async () => await engine.close(),
  };
}

/** In five seconds, what a refresh has left behind to be read is long read. */
async function settled(): Promise<void> {
  await renewed();
  await pause(systemClock, PAUSE_MS);
}

async function largest(times: number, ask: () => Promise<number>): Promise<number> {
  let bytes = 0;
  for (let time = 0; time < times; time++) bytes = Math.max(bytes, await ask());
  return bytes;
}

/** A map that is open in a browser: each refresh tells of what has changed since the one before, as bytes on the line. */
function pageOf(app: ReturnType<typeof webConsole>, tick: () => number) {
  let map: MapModel | null = null;

  async function ask(query: Readonly<Record<string, string>>, headers: HeadersInit): Promise<Answered> {
    const response = await app.request(`/api/recent?${new URLSearchParams(query)}`, { headers });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { response, bytes };
  }

  /** The page as it is opened, and then as it is. */
  async function open(): Promise<MapModel> {
    tick();
    map ??= await (await app.request("/api/map?range=1h")).json() as MapModel;
    return map;
  }

  function queryOf(page: MapModel): Readonly<Record<string, string>> {
    const since = String(page.now);
    return { range: "1h", since, replay_from: String(page.now - 3_000), have: digestsOf(page).slice(0, 4_000) };
  }

  let query: Readonly<Record<string, string>> = {};
  let answered: Answered | null = null;

  /** Takes in what was answered, and makes out what to ask for next. */
  async function prepare(): Promise<void> {
    if (map !== null && answered !== null) {
      const { now, map: changes } = JSON.parse(await unpacked(answered)) as RefreshModel;
      map = { ...changed(map, changes)!, now };
      answered = null;
    }
    query = queryOf(await open());
  }

  async function askAgain(): Promise<number> {
    answered = await ask(query, PACKED.headers);
    const { response: { status }, bytes } = answered;
    if (status !== 200) throw new Error(`Cannot measure a refresh: it answers ${status}`);
    return bytes.length;
  }

  async function refresh(): Promise<number> {
    await prepare();
    return await askAgain();
  }

  /** Head and body of the answer when nothing has changed in between. */
  async function unchanged(): Promise<number> {
    const query = queryOf(await open());
    const first = await ask(query, PACKED.headers);
    const etag = first.response.headers.get("etag")!;
    const { response, bytes } = await ask(query, { ...PACKED.headers, "if-none-match": etag });
    if (response.status !== 304) throw new Error(`Cannot measure a refresh: it answers ${response.status}, not 304`);
    return [...response.headers].reduce((size, [name, value]) => size + name.length + value.length + 4, bytes.length);
  }

  return { prepare, ask: askAgain, refresh, unchanged };
}

/** An answer, and its bytes on the line. */
interface Answered {
  readonly response: Response;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

async function unpacked({ response, bytes }: Answered): Promise<string> {
  if (response.headers.get("content-encoding") !== "gzip") return new TextDecoder().decode(bytes);
  return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
