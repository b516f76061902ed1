/** A RabbitMQ node of the run's own. */

import { pause } from "../kill/fleet.ts";
import { run } from "../process.ts";
import type { Programs } from "./programs.ts";
import { freePort, ServerProcess } from "./server_process.ts";

/** A node that this process has started. */
export class RabbitNode {
  readonly url: string;
  readonly #programs: Programs<"rabbitmq">;
  readonly #dir: string;
  readonly #port: number;
  readonly #distributionPort: number;
  #process: ServerProcess | null = null;
  #isOver = false;

  /** Starts a node that keeps everything in `dir`; resolves once it takes connections. */
  static async start(programs: Programs<"rabbitmq">, dir: string): Promise<RabbitNode> {
    const node = new RabbitNode(programs, dir);
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

  private constructor(programs: Programs<"rabbitmq">, dir: string) {
    this.#programs = programs;
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
    this.#process?.freeze();
  }

  thaw(): void {
    this.#process?.thaw();
  }

  /** Runs `rabbitmqctl` against it; rejects if it fails. */
  async control(...args: readonly string[]): Promise<void> {
    const command = this.#programs.rabbitmqctl;
    const { ok, output } = await run(command, ["--quiet", ...args], { env: this.#env(), capture: true });
    if (!ok) throw new Error(`Cannot run rabbitmqctl ${args.join(" ")}: ${output}`);
  }

  /** Kills it for good, also if it is about to come up again. */
  async close(): Promise<void> {
    this.#isOver = true;
    await this.#kill();
  }

  async #kill(): Promise<void> {
    await this.#process?.end("SIGKILL");
    this.#process = null;
  }

  async #boot(): Promise<void> {
    if (this.#isOver) return;
    const options = { name: "a RabbitMQ node", dir: this.#dir, port: this.#port };
    const process = new ServerProcess({ ...options, command: this.#programs["rabbitmq-server"], env: this.#env() });
    this.#process = process;
    try {
      await process.up();
    } catch (error) {
      if (!this.#isOver) throw error;
    }
  }

  #env(): Record<string, string> {
    const dir = this.#dir;
    return {
      HOME: `${dir}/home`, // its cookie
      RUNNING_UNDER_SYSTEMD: "1", // the script becomes the server, so that signals to it reach it
      RABBITMQ_CONF_ENV_FILE: "/dev/null",
      RABBITMQ_NODENAME: `leveret_own_${this.#port}@localhost`,
      RABBITMQ_DIST_PORT: String(this.#distributionPort),
      RABBITMQ_MNESIA_BASE: `${dir}/mnesia`,
      RABBITMQ_LOG_BASE: `${dir}/log`,
      RABBITMQ_CONFIG_FILE: `${dir}/rabbit.conf`,
      RABBITMQ_ENABLED_PLUGINS_FILE: `${dir}/plugins`,
      ERL_EPMD_ADDRESS: "127.0.0.1",
    };
  }
}
