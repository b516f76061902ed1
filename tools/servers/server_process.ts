/** A server of a run's own, next to the machine's: it can be killed and frozen without harm to others. */

import { pause } from "../kill/fleet.ts";

/** What is started. */
export interface ServerProcessOptions {
  /** For errors: `a RabbitMQ node`. */
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  /** All of its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** User and group it runs as; this process's own unless it is given. */
  readonly user?: number | null;
  /** Port at which it takes connections once it is up. */
  readonly port: number;
  /** Where it writes what went wrong, for errors. */
  readonly dir: string;
}

/** On a busy machine it takes a dozen seconds. */
const UP_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 50;

/** A process that this one has started. */
export class ServerProcess {
  readonly pid: number;
  readonly #options: ServerProcessOptions;
  readonly #child: Deno.ChildProcess;
  #code: number | null = null;

  constructor(options: ServerProcessOptions) {
    const { args = [], command, env = {}, user = null } = options;
    this.#options = options;
    this.#child = new Deno.Command(command, {
      args: [...args],
      stdin: "null",
      stdout: "null",
      stderr: "null",
      clearEnv: true,
      env: { PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin", LANG: "C.UTF-8", ...env },
      ...(user === null ? {} : { uid: user, gid: user }),
    }).spawn();
    this.pid = this.#child.pid;
    void this.#child.status.then(({ code }) => this.#code = code);
  }

  /** Resolves once it takes connections. Rejects if it ends before, or does not come up. */
  async up(): Promise<void> {
    const { dir, name, port } = this.#options;
    const giveUpAt = performance.now() + UP_WITHIN_MS;
    while (!await takesConnections(port)) {
      const isLate = performance.now() > giveUpAt;
      const why = this.#code !== null ? `it ended with code ${this.#code}` : isLate ? "it did not come up" : null;
      if (why !== null) throw new Error(`Cannot start ${name} in "${dir}": ${why}`);
      await pause(LOOK_EVERY_MS);
    }
  }

  /** SIGSTOP: it stands still, and keeps its connections. */
  freeze(): void {
    this.#send("SIGSTOP");
  }

  /** SIGCONT: it goes on. */
  thaw(): void {
    this.#send("SIGCONT");
  }

  /** Ends it by a signal; resolves once it has ended. */
  async end(signal: Deno.Signal): Promise<void> {
    this.#send(signal);
    await this.#child.status;
  }

  #send(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended by itself
    }
  }
}

/** `nobody`, on Linux. */
const NOBODY = 65_534;

/**
 * Databases refuse to run as root: for root, hands a folder that it has made over to `nobody`, and resolves with that
 * user; for anybody else, who is as good as any, with null.
 */
export async function unprivileged(dir: string): Promise<number | null> {
  if ((await Deno.stat(dir)).uid !== 0) return null;
  await Deno.chown(dir, NOBODY, NOBODY);
  return NOBODY;
}

/** A port that nobody listens on. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

async function takesConnections(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}
