/**
 * Connections and channels of `amqplib`, so that none of their ways to fail can reach anybody as an uncaught error.
 *
 * The driver reports one and the same loss as an event, as a rejected promise, to the callback of each confirmation and
 * as a synchronous throw. Here the event is what counts: `lost` resolves, once.
 */

import { type Channel, type ChannelModel, type ConfirmChannel, connect } from "amqplib";
import type { Duplex } from "node:stream";
import type { Clock } from "../../src/clock.ts";
import { type Linked, messageOf, within } from "../link.ts";
import { writeTogether } from "./write_together.ts";

/** How long the broker may be silent while a connection is made. Closing waits for an attempt that is under way. */
const CONNECT_TIMEOUT_MS = 5_000;
/** How long a broker may take to say goodbye. A frozen one never does. */
const GOODBYE_MS = 1_000;

/** A channel, and what became of it. */
export interface OpenChannel<T extends Channel> {
  readonly channel: T;
  /** Resolves with the reason once it is closed, whoever closed it. */
  readonly lost: Promise<string>;
}

/** A connection that is open, or was. */
export class Connection implements Linked {
  /** Resolves with the reason once it is closed, whoever closed it. */
  readonly lost: Promise<string>;
  readonly #model: ChannelModel;
  readonly #clock: Clock;
  #isLost = false;
  #blocked: string | null = null;

  constructor(model: ChannelModel, clock: Clock) {
    this.#model = model;
    this.#clock = clock;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.lost = promise;
    let reason = "closed";
    model.on("error", (error) => reason = messageOf(error));
    model.on("close", (error) => {
      this.#isLost = true;
      resolve(error === undefined ? reason : messageOf(error));
    });
    model.on("blocked", (why) => this.#blocked = why);
    model.on("unblocked", () => this.#blocked = null);
  }

  /** Why the broker reads nothing from this connection at present (it is short of memory or disk), or null. */
  get blocked(): string | null {
    return this.#blocked;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Opens a channel. Rejects if the connection ends meanwhile. */
  async openChannel(): Promise<OpenChannel<Channel>> {
    return watched(await this.#model.createChannel());
  }

  /** Opens a channel on which the broker confirms what it has taken. */
  async openConfirmChannel(): Promise<OpenChannel<ConfirmChannel>> {
    return watched(await this.#model.createConfirmChannel());
  }

  /** Closes it politely, or hard if the broker does not answer. Never rejects. */
  async close(): Promise<void> {
    const closing = async () => {
      await this.#model.close(); // rejects at once if it is closed already
      await this.lost;
    };
    await within(this.#clock, GOODBYE_MS, closing().catch(() => {}));
    await this.#destroy();
  }

  /** The socket is the driver's own affair, but nothing else ends a connection whose broker is frozen. */
  async #destroy(): Promise<void> {
    const stream = streamOf(this.#model);
    if (stream.closed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    stream.once("close", () => resolve());
    stream.destroy(new Error("closed"));
    await within(this.#clock, GOODBYE_MS, promise);
  }
}

/** Connects. Rejects with a reason to be read by people, within some seconds. */
export async function openConnection(url: string, clock: Clock): Promise<Connection> {
  // Without noDelay a lone message waits some 40 ms for an acknowledgement of the one before.
  const model = await connect(url, { noDelay: true, timeout: CONNECT_TIMEOUT_MS });
  writeTogether(streamOf(model));
  return new Connection(model, clock);
}

function streamOf(model: ChannelModel): Duplex {
  return (model as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream;
}

function watched<T extends Channel>(channel: T): OpenChannel<T> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let reason = "closed";
  channel.on("error", (error) => reason = messageOf(error));
  channel.on("close", () => resolve(reason));
  return { channel, lost: promise };
}

/** Closes a channel that is done with. Never rejects. */
export async function closeChannel({ channel, lost }: OpenChannel<Channel>): Promise<void> {
  // The driver throws if it is closed already, and never answers if the connection ends meanwhile.
  channel.close().catch(() => {});
  await lost;
}

/** Whether the broker refused an operation with this code: 404 not found, 406 other settings. */
export function hasCode(error: unknown, code: number): boolean {
  return error instanceof Error && (error as { readonly code?: unknown }).code === code;
}
