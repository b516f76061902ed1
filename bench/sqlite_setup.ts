/** What a commit to an SQLite file is worth here, and what it costs. */

import { DatabaseSync } from "node:sqlite";
import { median } from "./statistics.ts";

/** Looks at the file system on which `dir` lies. */
export async function sqliteSetupOf(dir: string): Promise<Readonly<Record<string, unknown>>> {
  return {
    sqlite: sqliteVersion(),
    synchronous: "FULL",
    journal: "WAL",
    fileSystem: await fileSystemOf(dir),
    // One append and flush of 4 KB, median: much below 0.1 ms nothing reaches a disk.
    flushMs: await flushMs(dir),
  };
}

function sqliteVersion(): string {
  const database = new DatabaseSync(":memory:");
  const row = database.prepare("select sqlite_version() as version").get();
  database.close();
  return String(row?.version);
}

/** Type of the mount that holds the folder. */
async function fileSystemOf(dir: string): Promise<string> {
  const mounts = await Deno.readTextFile("/proc/mounts").catch(() => "");
  const real = await Deno.realPath(dir);
  let [deepest, type] = ["", "unknown"];
  for (const mount of mounts.split("\n")) {
    const [, at = "", kind = ""] = mount.split(" ");
    const holds = at === "/" || real === at || real.startsWith(`${at}/`);
    if (holds && at.length >= deepest.length) [deepest, type] = [at, kind];
  }
  return type;
}

async function flushMs(dir: string): Promise<number> {
  const path = `${dir}/flush`;
  const file = await Deno.open(path, { create: true, write: true });
  const times: number[] = [];
  for (let at = 0; at < 50; at++) {
    const begin = performance.now();
    file.writeSync(new Uint8Array(4_096));
    file.syncDataSync();
    times.push(performance.now() - begin);
  }
  file.close();
  await Deno.remove(path);
  return median(times);
}
