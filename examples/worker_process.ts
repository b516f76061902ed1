/** A worker in a process of its own: it reports by lines of JSON, and stops when its standard input ends. */

import { TextLineStream } from "./text_lines.ts";

/** Signals by which a person ends a program at a terminal. */
export const INTERRUPTIONS: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGHUP"];

/** A process as the one that started it sees it. */
export interface WorkerProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves once it has reported for the first time; rejects if it ends before. */
  readonly ready: Promise<void>;
  /** Resolves once it has ended, whatever ended it, and all its reports were handed on. */
  readonly ended: Promise<void>;
  /** SIGKILL: it has no chance to tidy up anything. */
  kill(): Promise<void>;
  /** SIGSTOP: it stands still, and knows nothing of it afterwards. */
  freeze(): void;
  /** SIGCONT: it goes on. */
  thaw(): void;
  /** Lets it end what it has begun. */
  stop(): Promise<void>;
}

/** Files are all that a worker needs on SQLite. */
const FILES = ["--allow-read", "--allow-write"] as const;

/** Starts `script` with its settings as JSON; `onReport` hears what it reports. */
export function startWorker<Report>(
  script: URL,
  settings: { readonly name: string },
  onReport: (report: Report) => void,
  permissions: readonly string[] = FILES,
): WorkerProcess {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", ...permissions, script.href, JSON.stringify(settings)],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {}); // whoever kills a worker at once may not wait for it
  const read = async () => {
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) {
      ready.resolve();
      onReport(JSON.parse(line));
    }
    const { code } = await child.status;
    ready.reject(new Error(`Worker "${settings.name}" ended with code ${code} before it was ready`));
  };
  const ended = read();
  const closeInput = () => child.stdin.close().catch(() => {}); // closed already, by us or by its end
  const send = (signal: Deno.Signal) => {
    try {
      child.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended by itself
    }
  };
  return {
    name: settings.name,
    pid: child.pid,
    ready: ready.promise,
    ended,
    freeze: () => send("SIGSTOP"),
    thaw: () => send("SIGCONT"),
    async kill() {
      send("SIGKILL");
      await ended;
      await closeInput();
    },
    async stop() {
      await closeInput();
      await ended;
    },
  };
}

/** In the worker: its settings. */
export function workerSettings<Settings>(): Settings {
  return JSON.parse(Deno.args[0] ?? "{}");
}

/** In the worker: reports, in one write, so that a kill leaves no half of a line but at the very end. */
export function report(value: unknown): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
}

/** In the worker: resolves once whoever started it wants it to stop, or is gone. */
export async function untilStopped(): Promise<void> {
  // Ctrl-C and a closed terminal reach the whole group; whoever started the worker decides when it stops.
  for (const signal of INTERRUPTIONS) Deno.addSignalListener(signal, () => {});
  for await (const _ of Deno.stdin.readable);
}
