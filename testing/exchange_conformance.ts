/** What every exchange has to do, as tests that any runner can run. */

import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { isSagaError } from "../src/errors.ts";
import type { Exchange, HandlerAnswer, Hint, HintHandler } from "../src/exchange.ts";

/** Takes one test: `Deno.test`, `test` of `node:test` and others have this shape. */
export type RegisterTest = (name: string, run: () => Promise<void>) => void;

/** What the suite has to know of an exchange. */
export interface ExchangeConformanceOptions {
  /** Opens one; every test opens its own and closes it. */
  readonly open: () => Exchange | Promise<Exchange>;
  /** Whether it keeps a hint while nobody consumes the partition, as a broker does. */
  readonly keepsHints: boolean;
  /** Waits until a hint that is on its way would have arrived; by default a few turns of the event loop. */
  readonly settle?: () => Promise<void>;
  /** How long a hint may take to arrive; 10 s by default. */
  readonly deadlineMs?: number;
  /** Tests to leave out: their name without the prefix, and why. */
  readonly skip?: Readonly<Record<string, string>>;
}

/**
 * Registers the tests of the exchange contract. Those in `skip` are registered under a name that says why they are
 * left out, and do nothing.
 *
 * @example
 * ```ts
 * import { exchangeConformance } from "@leveret/saga/testing";
 * import { localExchange } from "@leveret/saga";
 *
 * const names: string[] = [];
 * exchangeConformance((name) => names.push(name), { open: () => localExchange(), keepsHints: false });
 * console.assert(names.length > 10);
 * ```
 *
 * @throws {RangeError} when `skip` names a test that does not exist
 */
export function exchangeConformance(register: RegisterTest, options: ExchangeConformanceOptions): void {
  const skip = new Map(Object.entries(options.skip ?? {}));
  for (const [name, run] of Object.entries(CASES)) {
    const reason = skip.get(name);
    skip.delete(name);
    if (reason !== undefined) register(`exchange: ${name} (left out: ${reason})`, () => Promise.resolve());
    else register(`exchange: ${name}`, () => runCase(run, options));
  }
  if (skip.size > 0) throw new RangeError(`Cannot skip ${[...skip.keys()].join(", ")}: there is no such test`);
}

interface Bench {
  readonly exchange: Exchange;
  readonly keepsHints: boolean;
  /** Names of this test's own: a broker keeps queues from one test to the next. */
  readonly partition: string;
  readonly otherPartition: string;
  /** Ends all consumption of the test when it is over. */
  readonly signal: AbortSignal;
  settle(): Promise<void>;
  /** Waits for a condition, which is looked at whenever something arrived. */
  until(condition: () => boolean, what: string): Promise<void>;
  /** Consumes with a handler that notes what it is given. */
  collect(partition?: string, concurrency?: number): Promise<Hint[]>;
}

async function runCase(run: (bench: Bench) => Promise<void>, options: ExchangeConformanceOptions): Promise<void> {
  const exchange = await options.open();
  const consuming = new AbortController();
  const id = crypto.randomUUID().slice(0, 8);
  const settle = options.settle ?? (async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
  });
  const until = async (condition: () => boolean, what: string) => {
    const deadline = performance.now() + (options.deadlineMs ?? 10_000);
    while (!condition()) {
      if (performance.now() > deadline) assert.fail(`waited in vain: ${what}`);
      await settle();
    }
  };
  const bench: Bench = {
    exchange,
    keepsHints: options.keepsHints,
    partition: `conformance-${id}`,
    otherPartition: `conformance-${id}-other`,
    signal: consuming.signal,
    settle,
    until,
    async collect(partition = bench.partition, concurrency = 10) {
      const received: Hint[] = [];
      const handler = (hint: Hint) => {
        received.push(hint);
        return DONE;
      };
      await exchange.consume(partition, handler, { concurrency, signal: consuming.signal });
      return received;
    },
  };
  try {
    await run(bench);
  } finally {
    consuming.abort();
    await exchange.close();
  }
}

const DONE: Promise<HandlerAnswer> = Promise.resolve("done");

function hintFor(partition: string, executionId: string, fields: Partial<Hint> = {}): Hint {
  return { executionId, epoch: 1, partition, step: "charge", direction: "execute", ...fields };
}

function hintsFor(partition: string, count: number, from = 0): Hint[] {
  return Array.from({ length: count }, (_, n) => hintFor(partition, `execution-${from + n}`));
}

/** A handler whose calls stay open until they are let go. */
function gate(): { handler: HintHandler; open: Hint[]; letGo: () => void; most: () => number } {
  const open: Hint[] = [];
  let ends: (() => void)[] = [];
  let most = 0;
  return {
    open,
    most: () => most,
    letGo() {
      for (const end of ends) end();
      ends = [];
    },
    handler(hint) {
      open.push(hint);
      const { promise, resolve } = Promise.withResolvers<HandlerAnswer>();
      ends.push(() => {
        open.splice(open.indexOf(hint), 1);
        resolve("done");
      });
      most = Math.max(most, open.length);
      return promise;
    },
  };
}

/** Nothing here asks for an order: no exchange promises one. */
const CASES: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  "publish() hands a hint over as it was made": async ({ exchange, partition, collect, until }) => {
    const received = await collect();
    const hint = hintFor(partition, "käse-🐇-\"'\\", { epoch: 7, step: "größe prüfen", direction: "compensate" });
    assert.deepEqual(await exchange.publish([hint]), ["sent"]);
    await until(() => received.length > 0, "the hint arrives");
    assert.deepEqual(received, [hint]);
  },

  "publish() answers each hint, and none for none": async ({ exchange, partition, collect }) => {
    await collect();
    assert.deepEqual(await exchange.publish([]), []);
    assert.deepEqual(await exchange.publish(hintsFor(partition, 3)), ["sent", "sent", "sent"]);
  },

  "publish() hands over a thousand hints, each of them once": async (
    { exchange, partition, collect, until, settle },
  ) => {
    const received = await collect();
    const hints = hintsFor(partition, 1_000);
    await exchange.publish(hints);
    await until(() => received.length >= hints.length, "all hints arrive");
    await settle();
    assert.deepEqual(idsOf(received), idsOf(hints));
  },

  "publish() never calls a handler before it returns": async ({ exchange, partition, collect, until }) => {
    const received = await collect();
    const answer = exchange.publish(hintsFor(partition, 1));
    assert.equal(received.length, 0);
    await answer;
    await until(() => received.length === 1, "the hint arrives");
  },

  "publish() without a consumer says what becomes of the hint": async (bench) => {
    const { exchange, partition, collect, until, keepsHints, settle } = bench;
    const reaches = exchange.reaches(partition);
    const answers = await exchange.publish(hintsFor(partition, 1));
    assert.deepEqual([reaches, answers], keepsHints ? [true, ["sent"]] : [false, ["unreached"]]);
    const received = await collect();
    if (keepsHints) await until(() => received.length === 1, "the kept hint arrives");
    else await settle();
    assert.equal(received.length, keepsHints ? 1 : 0);
  },

  "publish() takes hints of several partitions at once": async (bench) => {
    const { exchange, partition, otherPartition, collect, until } = bench;
    const here = await collect();
    const there = await collect(otherPartition);
    await exchange.publish([hintFor(partition, "a"), hintFor(otherPartition, "b"), hintFor(partition, "c")]);
    await until(() => here.length >= 2 && there.length >= 1, "the hints arrive");
    assert.deepEqual([idsOf(here), idsOf(there)], [["a", "c"], ["b"]]);
  },

  "publish() from within a handler goes on and on": async ({ exchange, keepsHints, partition, signal, until }) => {
    // Each hint of a broker's chain waits for its disk; in memory the stack is what a long one would fill.
    const length = keepsHints ? 500 : 5_000;
    let handled = 0;
    const handler: HintHandler = async (hint) => {
      handled++;
      if (handled < length) await exchange.publish([{ ...hint, executionId: `chain-${handled}` }]);
      return "done";
    };
    await exchange.consume(partition, handler, { concurrency: 1, signal });
    await exchange.publish(hintsFor(partition, 1));
    await until(() => handled === length, "the chain ends");
  },

  "reaches() is true while somebody consumes": async ({ exchange, partition, keepsHints }) => {
    const consuming = new AbortController();
    await exchange.consume(partition, () => DONE, { concurrency: 1, signal: consuming.signal });
    assert.equal(exchange.reaches(partition), true);
    consuming.abort();
    assert.equal(exchange.reaches(partition), keepsHints);
  },

  "consume() calls the handler `concurrency` times at once and no more": async (bench) => {
    const { exchange, partition, signal, until, settle } = bench;
    const held = gate();
    await exchange.consume(partition, held.handler, { concurrency: 3, signal });
    await exchange.publish(hintsFor(partition, 8));
    for (const expected of [3, 3, 2]) {
      await until(() => held.open.length === expected, `${expected} calls are open`);
      await settle();
      assert.equal(held.open.length, expected);
      held.letGo();
    }
    assert.equal(held.most(), 3);
  },

  "consume() gives a hint to one of several consumers": async ({ exchange, partition, signal, until, settle }) => {
    const first = gate();
    const second = gate();
    await exchange.consume(partition, first.handler, { concurrency: 1, signal });
    await exchange.consume(partition, second.handler, { concurrency: 1, signal });
    const hints = hintsFor(partition, 2);
    await exchange.publish(hints);
    await until(() => first.open.length === 1 && second.open.length === 1, "both are busy");
    await settle();
    assert.deepEqual(idsOf([...first.open, ...second.open]), idsOf(hints));
    first.letGo();
    second.letGo();
  },

  "consume() keeps partitions apart": async ({ exchange, partition, otherPartition, signal, collect, until }) => {
    const full = gate();
    await exchange.consume(partition, full.handler, { concurrency: 1, signal });
    const received = await collect(otherPartition);
    await exchange.publish(hintsFor(partition, 20));
    await exchange.publish(hintsFor(otherPartition, 20, 100));
    await until(() => received.length === 20, "the other partition is not held up");
    assert.deepEqual(idsOf(received), idsOf(hintsFor(otherPartition, 20, 100)));
    full.letGo();
  },

  "consume() outlives a handler that rejects": async ({ exchange, partition, signal, until }) => {
    await outlives(() => Promise.reject(new Error("boom")), { exchange, partition, signal, until });
  },

  "consume() outlives a handler that throws": async ({ exchange, partition, signal, until }) => {
    const throws = () => {
      throw new Error("boom");
    };
    await outlives(throws, { exchange, partition, signal, until });
  },

  "consume() goes on past a hint of an unknown definition": async ({ exchange, partition, signal, until }) => {
    await outlives(() => Promise.resolve("unknown_definition"), { exchange, partition, signal, until });
  },

  "consume() offers a hint of an unknown definition to another consumer": async (bench) => {
    const { exchange, partition, signal, collect, until } = bench;
    await exchange.consume(partition, () => Promise.resolve("unknown_definition"), { concurrency: 1, signal });
    const received = await collect();
    const hints = hintsFor(partition, 10);
    await exchange.publish(hints);
    await until(() => new Set(idsOf(received)).size === hints.length, "the one that knows it gets all of them");
  },

  "consume() ends with its signal; what is being handled goes on": async (bench) => {
    const { exchange, partition, until, settle } = bench;
    const consuming = new AbortController();
    const held = gate();
    await exchange.consume(partition, held.handler, { concurrency: 1, signal: consuming.signal });
    await exchange.publish(hintsFor(partition, 3));
    await until(() => held.open.length === 1, "one call is open");
    consuming.abort();
    held.letGo();
    await settle();
    assert.deepEqual([held.open.length, held.most()], [0, 1]);
  },

  "consume() leaves what one consumer did not take to the next": async ({ exchange, partition, collect, until }) => {
    const consuming = new AbortController();
    const held = gate();
    await exchange.consume(partition, held.handler, { concurrency: 1, signal: consuming.signal });
    await exchange.publish(hintsFor(partition, 3));
    await until(() => held.open.length === 1, "one call is open");
    consuming.abort();
    const received = await collect();
    await until(() => received.length >= 2, "the others arrive");
    held.letGo();
  },

  "consume() does nothing under a signal that has aborted": async ({ exchange, partition, settle, keepsHints }) => {
    let calls = 0;
    const handler = () => {
      calls++;
      return DONE;
    };
    await exchange.consume(partition, handler, { concurrency: 1, signal: AbortSignal.abort() });
    await exchange.publish(hintsFor(partition, 1));
    await settle();
    assert.deepEqual([calls, exchange.reaches(partition)], [0, keepsHints]);
  },

  "consume() refuses a concurrency that is not a whole number above 0": async ({ exchange, partition, signal }) => {
    for (const concurrency of [0, -1, 1.5, NaN, Infinity]) {
      await assert.rejects(
        exchange.consume(partition, () => DONE, { concurrency, signal }),
        (error) => isSagaError(error, "invalid_options"),
      );
    }
  },

  "depth() counts what waits and who consumes": async ({ exchange, partition, signal, until }) => {
    const held = gate();
    await exchange.consume(partition, held.handler, { concurrency: 1, signal });
    await exchange.publish(hintsFor(partition, 4));
    await until(() => held.open.length === 1, "one call is open");
    assert.deepEqual(await exchange.depth(partition), { ready: 3, consumers: 1 });
    held.letGo();
  },

  "depth() of a partition that was never used is empty": async ({ exchange, otherPartition }) => {
    const depth = await exchange.depth(otherPartition);
    assert.deepEqual(depth ?? { ready: 0, consumers: 0 }, { ready: 0, consumers: 0 });
  },

  "health() is good while it is open": async ({ exchange }) => {
    assert.equal((await exchange.health()).ok, true);
  },

  "close() can be called twice, and nothing rejects afterwards but consume()": async (
    { exchange, partition, signal },
  ) => {
    await exchange.close();
    await exchange.close();
    assert.deepEqual(await exchange.publish(hintsFor(partition, 2)), ["unreached", "unreached"]);
    assert.equal(exchange.reaches(partition), false);
    assert.equal(await exchange.depth(partition), null);
    assert.equal((await exchange.health()).ok, false);
    await assert.rejects(
      exchange.consume(partition, () => DONE, { concurrency: 1, signal }),
      (error) => isSagaError(error, "closed"),
    );
  },

  "close() hands nothing out any more; what is being handled goes on": async (bench) => {
    const { exchange, partition, signal, until, settle } = bench;
    const held = gate();
    await exchange.consume(partition, held.handler, { concurrency: 1, signal });
    await exchange.publish(hintsFor(partition, 3));
    await until(() => held.open.length === 1, "one call is open");
    await exchange.close();
    held.letGo();
    await settle();
    assert.deepEqual([held.open.length, held.most()], [0, 1]);
  },
};

/** The first hint is answered badly; the ones after it arrive. */
async function outlives(
  bad: HintHandler,
  { exchange, partition, signal, until }: Pick<Bench, "exchange" | "partition" | "signal" | "until">,
): Promise<void> {
  const received: Hint[] = [];
  const handler: HintHandler = (hint) => {
    if (hint.executionId === "bad") return bad(hint);
    received.push(hint);
    return DONE;
  };
  await exchange.consume(partition, handler, { concurrency: 1, signal });
  await exchange.publish([hintFor(partition, "bad"), ...hintsFor(partition, 5)]);
  await until(() => received.length >= 5, "the hints after the bad one arrive");
  assert.deepEqual(idsOf(received), idsOf(hintsFor(partition, 5)));
}

function idsOf(hints: readonly Hint[]): string[] {
  return hints.map((hint) => hint.executionId).sort();
}
