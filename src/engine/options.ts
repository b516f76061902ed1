/** What engines, workers and their operations are told, and the checks of it that belong to no operation alone. */

import type { Clock } from "../clock.ts";
import { inside, optionsAt, type Place, refusal, wholeNumberAt } from "../definition/check.ts";
import { type Duration, durationMs } from "../definition/duration.ts";
import type { AnyDefinition, ResourcesOption } from "../definition/inference.ts";
import type { Registry } from "../definition/registry.ts";
import { checkPartition } from "../definition/text.ts";
import { isFinished, type Status } from "../domain/record.ts";
import { SagaError } from "../errors.ts";
import type { Exchange } from "../exchange.ts";
import type { Logger } from "../logger.ts";
import type { Store } from "../store.ts";
import type { OperationOptions } from "./operations.ts";
import { type Tuning, TUNING_KEYS } from "./settings.ts";
import { Slots } from "./slots.ts";
import type { PartitionOptions } from "./worker.ts";

/** What an engine is made of. */
export type EngineOptions<D extends readonly AnyDefinition[]> =
  & Tuning
  & {
    /** Where the truth lives. The engine does not close it. */
    readonly store: Store;
    /** What carries hints; in-process if not given, and closed by the engine then. */
    readonly exchange?: Exchange;
    /** Sagas that it can start and run; several versions of one name may stand side by side. */
    readonly definitions: D;
    readonly logger?: Logger;
    readonly clock?: Clock;
    /** Random numbers in [0, 1); cryptographic ones if not given. */
    readonly random?: () => number;
  }
  & ResourcesOption<D[number]>;

/** What a worker consumes. */
export interface WorkOptions {
  /** By name; `{ default: { concurrency: 10 } }` if not given. */
  readonly partitions?: Readonly<Record<string, PartitionOptions>>;
  /** Name in leases and logs, unique among workers; made up if not given. */
  readonly name?: string;
}

/** How to stop a worker. */
export interface StopOptions {
  /** How long steps may go on before their signals abort: 30 s. */
  readonly deadline?: Duration;
}

/** How to send a signal. */
export interface SignalOptions extends Omit<OperationOptions, "epoch"> {
  /** The sender's own id: a second signal with it, to the same execution, is not stored. */
  readonly signalId?: string;
}

/** How to prune. */
export interface RetentionOptions {
  /** Executions that finished before. */
  readonly finishedBefore: Date | number;
  /** Which finished ones: `["completed"]` if not given. */
  readonly statuses?: readonly Status[];
  /** At most this many in one go: 1,000 if not given. */
  readonly limit?: number;
}

/** Names of an engine's options. */
export const ENGINE_KEYS = [
  "store",
  "exchange",
  "definitions",
  "resources",
  "logger",
  "clock",
  "random",
  ...TUNING_KEYS,
] as const;

/** Where an engine's options stand, for the errors that refuse them. */
export const MAKE: Place = { code: "invalid_options", action: "make an engine", path: "options" };
const DEFAULT_CONCURRENCY = 10;
const DEFAULT_STOP_MS = 30_000;

/** The parts among an engine's options, as far as one can tell by their methods. */
export function partsOf(
  options: { readonly [Key in (typeof ENGINE_KEYS)[number]]?: unknown },
): Readonly<
  {
    store: Store;
    exchange: Exchange | null;
    logger: Logger | null;
    clock: Clock | null;
    random: (() => number) | null;
    resources: unknown;
  }
> {
  const { random, resources = {} } = options;
  if (random !== undefined && typeof random !== "function") {
    throw refusal(inside(MAKE, "random"), random, "use a function that returns numbers in [0, 1)");
  }
  if (typeof resources !== "object" || resources === null) {
    throw refusal(inside(MAKE, "resources"), resources, "use an object with what the definitions need");
  }
  return {
    store: partOf("store", options.store, ["commit", "load", "insert"], STORE_ADVICE),
    exchange: optionalPartOf("exchange", options.exchange, ["publish", "consume", "reaches"], EXCHANGE_ADVICE),
    logger: optionalPartOf("logger", options.logger, ["debug", "info", "warn", "error"], "use console, or one like it"),
    clock: optionalPartOf("clock", options.clock, ["now", "setTimer", "soon"], "leave it out, or use a virtual clock"),
    random: (random as (() => number) | undefined) ?? null,
    resources,
  };
}

const STORE_ADVICE = 'use a store, such as sqliteStore({ path: "app.sqlite" })';
const EXCHANGE_ADVICE = "leave it out, or use an exchange";

function optionalPartOf<Part>(
  key: string,
  value: unknown,
  methods: readonly (keyof Part & string)[],
  advice: string,
): Part | null {
  return value === undefined ? null : partOf(key, value, methods, advice);
}

function partOf<Part>(key: string, value: unknown, methods: readonly (keyof Part & string)[], advice: string): Part {
  const isPart = typeof value === "object" && value !== null &&
    methods.every((method) => typeof (value as Part)[method] === "function");
  if (isPart) return value as Part;
  throw refusal(inside(MAKE, key), value, advice);
}

/** Refuses transactional steps on a store that has no transactions. */
export function refuseTransactions(store: Store, known: Registry): void {
  for (const { name, version } of known.keys) {
    const step = known.get(name, version)?.plan.steps.find((one) => one.kind === "transaction");
    if (step === undefined) continue;
    throw new SagaError(
      "transactions_unsupported",
      `Cannot register saga "${name}": its step "${step.name}" needs a transaction, which the ${store.kind} store ` +
        `does not have; use a SQL store`,
      { details: { path: `steps.${step.name}` } },
    );
  }
}

/** The slots of a worker, by partition. */
export function slotsOf(value: unknown, place: Place): ReadonlyMap<string, Slots> {
  const partitions = value === undefined ? { default: {} } : value;
  if (typeof partitions !== "object" || partitions === null || Object.keys(partitions).length === 0) {
    throw refusal(inside(place, "partitions"), value, "use an object such as { default: { concurrency: 10 } }");
  }
  return new Map(
    Object.entries(partitions).map(([name, options]) => {
      const at = inside(inside(place, "partitions"), name);
      checkPartition(name, at);
      const { concurrency } = optionsAt(at, options, ["concurrency"]);
      const size = concurrency === undefined
        ? DEFAULT_CONCURRENCY
        : wholeNumberAt(inside(at, "concurrency"), concurrency, { min: 1, max: 10_000 });
      return [name, new Slots(size)];
    }),
  );
}

/** Finished statuses, of what is pruned. */
export function statusesOf(value: unknown, place: Place): readonly Status[] {
  if (value === undefined) return ["completed"];
  const isGood = Array.isArray(value) && value.length > 0 && value.every((one) => isFinished(one));
  if (isGood) return value as readonly Status[];
  throw refusal(inside(place, "statuses"), value, "use completed, compensated, failed or compensation_failed");
}

/** How long steps may go on once their worker stops. */
export function stopMs(options: StopOptions): number {
  const place: Place = { code: "invalid_options", action: "stop", path: "options" };
  const { deadline } = optionsAt(place, options, ["deadline"]);
  return deadline === undefined ? DEFAULT_STOP_MS : durationMs(deadline, inside(place, "deadline"));
}
