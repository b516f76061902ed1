/** The broker of the chaos test: it restarts, freezes, closes connections and loses queues. */

import { type Channel, connect } from "amqplib";
import { Proxy } from "../../exchanges/fixtures/proxy.ts";
import { pause } from "../kill/fleet.ts";
import { findPrograms } from "../servers/programs.ts";
import { RabbitNode } from "../servers/rabbit_node.ts";

/** `own`: a node that the run starts, kills and freezes; `shared`: the machine's, which a proxy seems to do this to. */
export type BrokerKind = "own" | "shared";

/** What a broker is opened with. */
export interface BrokerOptions {
  /** Without it, a node of its own where this machine has RabbitMQ, and the machine's otherwise. */
  readonly kind: BrokerKind | null;
  /** Where a node of its own keeps its files. */
  readonly dir: string;
  /** Beginning of the names of what is declared. */
  readonly prefix: string;
}

/** Where the machine's broker is. */
export function sharedBrokerUrl(): string {
  return Deno.env.get("LEVERET_AMQP_URL") ?? "amqp://guest:guest@127.0.0.1:5672";
}

/** A broker that faults can be done to. */
export class ChaosBroker {
  readonly kind: BrokerKind;
  readonly #node: RabbitNode | null;
  readonly #proxy: Proxy;
  readonly #prefix: string;
  readonly #directUrl: string;

  static async open({ dir, kind, prefix }: BrokerOptions): Promise<ChaosBroker> {
    const programs = kind === "shared" ? null : await findPrograms("rabbitmq");
    if (kind === "own" && programs === null) {
      throw new Error("Cannot start a RabbitMQ node: there is no rabbitmq-server");
    }
    return new ChaosBroker(programs === null ? null : await RabbitNode.start(programs, dir), prefix);
  }

  private constructor(node: RabbitNode | null, prefix: string) {
    this.kind = node === null ? "shared" : "own";
    this.#node = node;
    this.#prefix = prefix;
    this.#directUrl = node?.url ?? sharedBrokerUrl();
    this.#proxy = new Proxy(this.#directUrl);
  }

  /** Where the processes of the run reach it. */
  get url(): string {
    return this.#proxy.url;
  }

  /** It is away for a while, and for as long as it takes to come up. */
  async restart(forMs: number): Promise<void> {
    if (this.#node !== null) return await this.#node.restart(forMs);
    this.#proxy.refuse();
    await pause(forMs);
    this.#proxy.admit();
  }

  /** It keeps its connections, and does nothing for a while. */
  async freeze(forMs: number): Promise<void> {
    this.#node === null ? this.#proxy.freeze() : this.#node.freeze();
    await pause(forMs);
    this.#node === null ? this.#proxy.thaw() : this.#node.thaw();
  }

  closeConnections(): void {
    this.#proxy.cut();
  }

  /** Deletes the queue of hints, with all that is in it. */
  async deleteQueue(): Promise<void> {
    await this.#use(async (channel) => void await channel.deleteQueue(`${this.#prefix}.execute`));
  }

  /** Takes away what the run has declared, or the node. */
  async close(): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    if (this.#node !== null) return await this.#node.close();
    await this.#use(async (channel) => {
      for (const end of ["", ".retry.1000", ".error"]) await channel.deleteQueue(`${this.#prefix}.execute${end}`);
      await channel.deleteExchange(this.#prefix);
    });
  }

  async #use(work: (channel: Channel) => Promise<void>): Promise<void> {
    const model = await connect(this.#directUrl, { timeout: 10_000 });
    model.on("error", () => {});
    try {
      const channel = await model.createChannel();
      channel.on("error", () => {});
      await work(channel);
    } finally {
      await model.close();
    }
  }
}
