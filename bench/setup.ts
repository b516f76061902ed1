/** On what the bench runs. */

import type { Setup } from "./line.ts";

/** Looks at the machine and the runtime. */
export function setupOf(concurrency: number): Setup {
  return {
    cores: navigator.hardwareConcurrency,
    load: Deno.loadavg()[0]!,
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    concurrency,
  };
}

/** The largest resident memory that this process has had, in megabytes. */
export async function peakRssMb(): Promise<number> {
  const status = await Deno.readTextFile("/proc/self/status").catch(() => "");
  const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
  return Number.isFinite(kilobytes) ? kilobytes / 1_024 : Deno.memoryUsage().rss / 1_048_576;
}
