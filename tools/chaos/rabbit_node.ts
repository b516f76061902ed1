/** A RabbitMQ node of the run's own, next to the machine's: it can be killed and frozen without harm to others. */

import { pause } from "../kill/fleet.ts";

/** Debian's, which may be run by anybody: the command in the path insists on the user rabbitmq and its folders. */
const SCRIPTS = [
  "/usr/lib/rabbitmq/bin/rabbitmq-server",
  "/usr/local/sbin/rabbitmq-server",
  "/opt/rabbitmq/sbin/rabbitmq-server",
];

/** On a busy machine it takes a dozen seconds. */
const UP_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 200;

/** The server's script, if this machine has it. */
export async function findRabbitScript(): Promise<string | null> {
  for (const path of SCRIPTS) {
    if (await Deno.stat(path).then(() => true, () => false)) return path;
  }
  return null;
}

/** A node that this process has started. */
export class RabbitNode {
  readonly url: string;
  readonly #script: string;
  readonly #dir: string;
  readonly #port: number;
  readonly #distributionPort: number;
  #process: Deno.ChildProcess | null = null;
  #isOver = false;

  /** Starts a node that keeps everything in `dir`; resolves once it takes connections. */
  static async start(script: string, dir: string): Promise<RabbitNode> {
    const node = new RabbitNode(script, dir);
    for (const folder of ["home", "mnesia", "log"]) await Deno.mkdir(`${dir}/${folder}`, { recursive: true });
    await Deno.writeTextFile(`${dir}/plugins`, "[].\n");
    await Deno.writeTextFile(`${dir}/rabbit.conf`, `listeners.tcp.local = 127.0.0.1:${node.#port}\n`);
    try {
      await node.#boot();
    } catch (error) {
      await node.close();
      throw error;
    }
    return node;
  }

  private constructor(script: string, dir: string) {
    this.#script = script;
    this.#dir = dir;
    this.#port = freePort();
    this.#distributionPort = freePort();
    this.url = `amqp://guest:guest@127.0.0.1:${this.#port}`;
  }

  /** Kills it and starts it anew after a while, with what it has written to its disk. */
  async restart(afterMs: number): Promise<void> {
    await this.#kill();
    await pause(afterMs);
    await this.#boot();
  }

  freeze(): void {
    this.#send("SIGSTOP");
  }

  thaw(): void {
    this.#send("SIGCONT");
  }

  /** Kills it for good, also if it is about to come up again. */
  async close(): Promise<void> {
    this.#isOver = true;
    await this.#kill();
  }

  async #kill(): Promise<void> {
    this.#send("SIGKILL");
    await this.#process?.status;
    this.#process = null;
  }

  #send(signal: Deno.Signal): void {
    try {
      this.#process?.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended by itself
    }
  }

  async #boot(): Promise<void> {
    if (this.#isOver) return;
    const dir = this.#dir;
    this.#process = new Deno.Command(this.#script, {
      stdin: "null",
      stdout: "null",
      stderr: "null",
      clearEnv: true,
      env: {
        PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
        LANG: "C.UTF-8",
        HOME: `${dir}/home`, // its cookie
        RUNNING_UNDER_SYSTEMD: "1", // the script becomes the server, so that signals to it reach it
        RABBITMQ_CONF_ENV_FILE: "/dev/null",
        RABBITMQ_NODENAME: `leveret_chaos_${this.#port}@localhost`,
        RABBITMQ_DIST_PORT: String(this.#distributionPort),
        RABBITMQ_MNESIA_BASE: `${dir}/mnesia`,
        RABBITMQ_LOG_BASE: `${dir}/log`,
        RABBITMQ_CONFIG_FILE: `${dir}/rabbit.conf`,
        RABBITMQ_ENABLED_PLUGINS_FILE: `${dir}/plugins`,
        ERL_EPMD_ADDRESS: "127.0.0.1",
      },
    }).spawn();
    let ended: string | null = null;
    void this.#process.status.then(({ code }) => ended = `it ended with code ${code}`);
    const giveUpAt = performance.now() + UP_WITHIN_MS;
    while (!await takesConnections(this.#port)) {
      if (this.#isOver) return;
      const why = ended ?? (performance.now() > giveUpAt ? "it did not come up" : null);
      if (why !== null) throw new Error(`Cannot start a RabbitMQ node in "${dir}": ${why}`);
      await pause(LOOK_EVERY_MS);
    }
  }
}

function freePort(): number {
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
