/** On what the bench runs. */

import { DatabaseSync } from "node:sqlite";
import type { Setup } from "./line.ts";
import { median } from "./statistics.ts";

/** Looks at the machine, and at the file system on which `dir` lies. */
export async function setupOf(dir: string, concurrency: number): Promise<Setup> {
  return {
    cores: navigator.hardwareConcurrency,
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    sqlite: sqliteVersion(),
    synchronous: "FULL",
    journal: "WAL",
    concurrency,
    fileSystem: await fileSystemOf(dir),
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

/** The largest resident memory that this process has had, in megabytes. */
export async function peakRssMb(): Promise<number> {
  const status = await Deno.readTextFile("/proc/self/status").catch(() => "");
  const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
  return Number.isFinite(kilobytes) ? kilobytes / 1_024 : Deno.memoryUsage().rss / 1_048_576;
}
