/**
 * The exchange contract: what carries "look at execution X" to workers.
 *
 * A hint carries no state. Losing, duplicating, delaying or reordering hints changes no outcome, only how soon it
 * comes: whatever a hint does not bring about, a sweep does.
 */

import type { Direction } from "./domain/record.ts";

/** "Look at this execution." Only the id decides; step and direction are for the log. */
export interface Hint {
  /** The execution to look at. */
  readonly executionId: string;
  /** The execution's generation when the hint was made. A hint of another generation is dropped. */
  readonly epoch: number;
  /** Lane. */
  readonly partition: string;
  /** Where its cursor stood. */
  readonly step: string;
  /** Which way it went. */
  readonly direction: Direction;
}

/** Whether a hint was handed over to something that keeps it (`sent`), or reached nobody (`unreached`). */
export type PublishAnswer = "sent" | "unreached";

/** What became of a hint: looked at, or of a definition that this worker does not know (another one may). */
export type HandlerAnswer = "done" | "unknown_definition";

/**
 * Takes one hint. It may reject: then the hint counts as looked at, and the sweep has it.
 *
 * It may call `ending` when nothing is left to do but to write how a run ended, which is protected by its lease and no
 * longer by the hint: an exchange that has to ask a broker for the next hint may do so then, and hand it over though
 * this call has not settled.
 */
export type HintHandler = (hint: Hint, ending?: () => void) => Promise<HandlerAnswer>;

/** How a partition is consumed. */
export interface ConsumeOptions {
  /** Hints that the handler is given at once, at most; one that is ending no longer counts. */
  readonly concurrency: number;
  /** Ends the consumption: no further hints; those being handled go on. */
  readonly signal: AbortSignal;
}

/** What waits in a partition's queue. */
export interface Depth {
  /** Hints that no consumer has been given yet. */
  readonly ready: number;
  /** Consumers, in any process. */
  readonly consumers: number;
}

/** Whether a part works, and what is wrong if it does not. */
export interface Health {
  /** Whether all of it works. */
  readonly ok: boolean;
  /** What else is known of it. */
  readonly detail: string;
}

/** Carries hints. Every method may be called at any time, by many callers at once. */
export interface Exchange {
  /** "local", "amqp", … for logs and the console. */
  readonly kind: string;
  /**
   * Whether a hint for this partition, published now, would reach anything. Decides, before the commit, whether the
   * execution is left to the hint for a while or to the next sweep.
   */
  reaches(partition: string): boolean;
  /**
   * Hands hints over, one answer each, in order. It never rejects and answers within the exchange's own deadline: a
   * hint whose fate is not known by then is `unreached`, though it may still arrive.
   */
  publish(hints: readonly Hint[]): Promise<readonly PublishAnswer[]>;
  /**
   * Begins to consume a partition; resolves once it is set up, or will be set up by itself as soon as the connection
   * is back. Consumption survives reconnects and ends with the signal only.
   */
  consume(partition: string, handler: HintHandler, options: ConsumeOptions): Promise<void>;
  /** What waits in the partition's queue, or null when that cannot be told now. */
  depth(partition: string): Promise<Depth | null>;
  /** Whether hints get through at present. Never rejects. */
  health(): Promise<Health>;
  /** Stops consuming and lets go of connections; hints not handed out are dropped. May be called twice. */
  close(): Promise<void>;
}
