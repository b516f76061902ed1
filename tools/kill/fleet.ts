/** Worker processes that are killed and frozen, and those that come after them. */

import { startWorker, type WorkerProcess } from "../../examples/worker_process.ts";
import type { Fault } from "./audit.ts";

/** What a fleet is made of. */
export interface FleetOptions<Settings extends { readonly name: string }> {
  /** Processes. */
  readonly size: number;
  readonly script: URL;
  /** What the process of this name is told. */
  readonly settings: (name: string) => Settings;
  /** What it may do, if files are not enough. */
  readonly permissions?: readonly string[];
  /** Numbers in [0, 1), by which victims are chosen. */
  readonly random: () => number;
}

/** Keeps so many processes running. */
export class Fleet<Settings extends { readonly name: string }> {
  readonly #options: FleetOptions<Settings>;
  readonly #running: WorkerProcess[] = [];
  readonly #ready = new Set<WorkerProcess>();
  readonly #frozen = new Set<WorkerProcess>();
  #started = 0;
  #isOver = false;

  constructor(options: FleetOptions<Settings>) {
    this.#options = options;
  }

  async start(): Promise<void> {
    for (let count = 0; count < this.#options.size; count++) this.#startOne();
    await Promise.all(this.#running.map(({ ready }) => ready));
  }

  /** Kills one that works, at random, and starts another one in its place; null if none works at present. */
  async killOne(): Promise<Fault | null> {
    const victim = this.#choose([...this.#ready]);
    if (victim === undefined) return null;
    this.#forget(victim);
    const at = Date.now();
    await victim.kill();
    if (!this.#isOver) this.#startOne();
    return { worker: victim.name, at, until: at };
  }

  /**
   * Freezes one that works, at random, and thaws it after a time. `isInTheWay` says that it stands still where all
   * others wait for it: then it is let go on a little.
   */
  async freezeOne(ms: number, isInTheWay: () => boolean = () => false): Promise<Fault | null> {
    const victim = this.#choose([...this.#ready].filter((worker) => !this.#frozen.has(worker)));
    if (victim === undefined) return null;
    this.#frozen.add(victim);
    victim.freeze();
    while (isInTheWay()) {
      victim.thaw();
      await pause(1);
      victim.freeze();
    }
    const at = Date.now();
    await until(victim.ended, ms);
    this.#frozen.delete(victim);
    victim.thaw();
    return { worker: victim.name, at, until: Date.now() };
  }

  /** Lets all end what they have begun. */
  async stop(): Promise<void> {
    this.#isOver = true;
    for (const worker of this.#frozen) worker.thaw();
    await Promise.all(this.#running.map((worker) => worker.stop()));
  }

  async killAll(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running.map((worker) => worker.kill()));
  }

  #startOne(): void {
    const { permissions, script, settings } = this.#options;
    const worker = startWorker(script, settings(`worker-${++this.#started}`), () => {}, permissions);
    this.#running.push(worker);
    worker.ready.then(() => this.#running.includes(worker) && this.#ready.add(worker), () => {});
  }

  #choose(workers: readonly WorkerProcess[]): WorkerProcess | undefined {
    return workers[Math.floor(this.#options.random() * workers.length)];
  }

  #forget(worker: WorkerProcess): void {
    this.#ready.delete(worker);
    this.#running.splice(this.#running.indexOf(worker), 1);
  }
}

/** Waits for the end of something, but no longer than that. */
async function until(ended: Promise<unknown>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, ended]);
  clearTimeout(timer);
}

/** Waits in real time. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, Math.max(0, ms)));
}
