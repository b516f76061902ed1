/** The engine: starts executions, runs workers, and lets people see and act. */

import { systemClock } from "../clock.ts";
import { flagAt, inside, optionsAt, type Place, refusal, wholeNumberAt } from "../definition/check.ts";
import type { Definition } from "../definition/definition.ts";
import type { AnyDefinition, InputOf } from "../definition/inference.ts";
import { type Registry, registry } from "../definition/registry.ts";
import { type StandardSchema, validate } from "../definition/schema.ts";
import { storable, storableObject } from "../definition/storable.ts";
import { checkText } from "../definition/text.ts";
import { auditRow } from "../domain/audit.ts";
import { changeOf } from "../domain/change.ts";
import { rowId } from "../domain/chance.ts";
import { rowsOfRunning } from "../domain/attempts.ts";
import type { Json, JsonObject } from "../domain/json.ts";
import {
  type Execution,
  type ExecutionRecord,
  type Instant,
  isFinished,
  type Operation,
  type Signal,
} from "../domain/record.ts";
import { SagaError, show } from "../errors.ts";
import type { Exchange } from "../exchange.ts";
import { silentLogger } from "../logger.ts";
import type { Store } from "../store.ts";
import { localExchange } from "../../exchanges/local.ts";
import { tellParent } from "./calls.ts";
import { Bag, type Placed } from "./bag.ts";
import { EngineClock } from "./engine_clock.ts";
import { base, EventBus, isEventName, type SagaEvent, type SagaEventName, type SagaListener } from "./events.ts";
import { checkDeploy, type DeployCheck, planOver } from "./check_deploy.ts";
import { explain, type Explanation } from "./explain.ts";
import {
  type CompensationPlan,
  compensationPlan,
  notFound,
  operate,
  type OperationOptions,
  operationOptions,
  verb,
} from "./operations.ts";
import {
  ENGINE_KEYS,
  type EngineOptions,
  MAKE,
  partsOf,
  refuseTransactions,
  type RetentionOptions,
  type SignalOptions,
  slotsOf,
  statusesOf,
  stopMs,
  type StopOptions,
  type WorkOptions,
} from "./options.ts";
import { DECISIONS, type Decisions, hintOf, Parts } from "./parts.ts";
import { Outage } from "./outage.ts";
import { secureRandom } from "./random.ts";
import { type Resumed, type ResumeOptions, resumeStuck } from "./resume.ts";
import { Pass } from "./pass.ts";
import { executionLike, type RerunOptions, startFrom } from "./rerun.ts";
import { safeLogger } from "./safe_logger.ts";
import { settingsOf } from "./settings.ts";
import { newExecution, start, START_KEYS, type Started, type StartOptions } from "./start.ts";
import { Waiting, type WaitOptions } from "./waiting.ts";
import type { AttemptView, EngineHealth, VersionInUse, Worker } from "./views.ts";
import { WorkerLoop } from "./worker.ts";

const DEFAULT_PRUNE_LIMIT = 1_000;
/** How often an engine compares its clock with the database's, at least while it is used. */
const COMPARE_EVERY_MS = 60_000;

/**
 * Starts and runs executions of sagas on a store.
 *
 * An engine without workers only starts and operates, as a web process does; `work()` makes it run executions, too. Any
 * number of engines, in any number of processes, may share a store.
 *
 * @example
 * ```ts
 * import { Engine, saga } from "@leveret/saga";
 * import { memoryStore } from "@leveret/saga/memory";
 * import assert from "node:assert/strict";
 *
 * const greet = saga<{ name: string }>("greet").step("say", ({ context }) => ({ text: `Hello, ${context.name}` }));
 * const engine = new Engine({ store: memoryStore(), definitions: [greet] });
 * engine.work();
 * const { execution } = await engine.start(greet, { input: { name: "Ada" } });
 * const done = await engine.wait(execution.id);
 * assert.equal(done.context.text, "Hello, Ada");
 * await engine.close();
 * ```
 */
export class Engine<const D extends readonly AnyDefinition[] = readonly AnyDefinition[]> {
  readonly #parts: Parts;
  readonly #ownExchange: Exchange | null;
  readonly #workers = new Set<WorkerLoop>();
  readonly #waiting: Waiting;
  /** Starts in flight: a worker that stops meanwhile still has to finish what they hand to it. */
  readonly #starting = new Bag<Placed & { readonly end: Promise<Started> }>();
  #comparing: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  /**
   * An engine on a store, for these definitions. Nothing is read or written yet.
   *
   * @throws {SagaError} `invalid_options` for unknown or bad options, `invalid_definition` and `duplicate_definition`
   * for the definitions.
   */
  constructor(options: EngineOptions<D>) {
    const checked = optionsAt(MAKE, options, ENGINE_KEYS);
    const given = partsOf(checked);
    const { store } = given;
    const clock = new EngineClock(given.clock ?? systemClock);
    const logger = given.logger === null ? silentLogger : safeLogger(given.logger);
    const random = given.random ?? secureRandom();
    const settings = settingsOf(options, MAKE);
    const known: Registry = registry(options.definitions);
    if (!store.transactional) refuseTransactions(store, known);
    this.#ownExchange = given.exchange === null ? localExchange() : null;
    this.#waiting = new Waiting({
      clock,
      pollMs: settings.waitIntervalMs,
      status: (ids) => store.status(ids),
      load: (id) => this.#parts.load(id),
      outage: new Outage(clock, logger, random),
    });
    this.#parts = new Parts({
      store,
      exchange: given.exchange ?? this.#ownExchange ?? localExchange(),
      registry: known,
      resources: given.resources,
      clock,
      logger,
      random,
      settings,
      events: new EventBus(logger),
      waiting: this.#waiting,
      decisions: (options as { readonly [DECISIONS_OPTION]?: Decisions })[DECISIONS_OPTION] ?? DECISIONS,
    });
    this.#parts.onChildEnded = (execution) => void tellParent(this.#parts, execution);
    this.#parts.onWake = (at, partition) => this.#onWake(at, partition);
  }

  /** The store that it was given. */
  get store(): Store {
    return this.#parts.store;
  }

  /** The exchange that carries its hints. */
  get exchange(): Exchange {
    return this.#parts.exchange;
  }

  /** The definitions that it knows. */
  get definitions(): Registry {
    return this.#parts.registry;
  }

  /**
   * Starts an execution. When it resolves, the execution is stored and will be run by some worker, whatever becomes of
   * this process. With an `id` it can be repeated safely: it starts once. If the answer of the store is lost, it repeats
   * the insert once and knows its own row.
   *
   * @throws {SagaError} `unknown_definition`, `invalid_input`, `invalid_options`, `not_storable`; `id_conflict` if the
   * id belongs to an execution with other input; `store_unavailable` if the store cannot be reached (with the same id
   * it is safe to try again).
   */
  async start<S extends D[number]>(definition: S, options: StartOptions<InputOf<S>>): Promise<Started> {
    const known = this.#known(definition);
    const place: Place = { code: "invalid_options", action: `start saga "${known.name}"`, path: "options" };
    const checked = optionsAt(place, options, START_KEYS);
    await this.#begin();
    const execution = await newExecution(this.#parts, known, checked, place);
    return await this.#start(execution, checked.tx);
  }

  /**
   * Runs executions in this process until it is stopped: those that it starts itself, those that hints bring, and those
   * that a sweep finds due or lost.
   *
   * @throws {SagaError} `invalid_options`; `closed`
   */
  work(options: WorkOptions = {}): Worker {
    if (this.#closing !== null) throw closed("work");
    const place: Place = { code: "invalid_options", action: "work", path: "options" };
    const checked = optionsAt(place, options, ["partitions", "name"]);
    const name = checked.name === undefined ? this.#workerName() : checkText(checked.name, "the name of a worker");
    if ([...this.#workers].some((worker) => worker.name === name)) {
      throw refusal(inside(place, "name"), name, "another worker of this engine has it: leases tell them apart by it");
    }
    const loop = new WorkerLoop(name, this.#parts, slotsOf(checked.partitions, place));
    this.#workers.add(loop);
    loop.start();
    const stop = async (stopOptions: StopOptions = {}) => {
      await loop.stop({ deadlineMs: stopMs(stopOptions) });
      this.#workers.delete(loop);
    };
    return {
      name,
      get busy(): number {
        return loop.busy;
      },
      stop,
      [Symbol.asyncDispose]: () => stop(),
    };
  }

  /**
   * Resolves with the execution once it is finished, however it ended: look at its `status`.
   *
   * @throws {SagaError} `blocked` if it needs a person (not with `throughBlocked`); `not_found`; `closed`. With a signal,
   * the signal's reason.
   */
  async wait(id: string, options: WaitOptions = {}): Promise<Execution> {
    const place: Place = { code: "invalid_options", action: `wait for execution ${show(id)}`, path: "options" };
    const { signal, throughBlocked } = optionsAt(place, options, ["signal", "throughBlocked"]);
    if (signal !== undefined && typeof (signal as Partial<AbortSignal> | null)?.addEventListener !== "function") {
      throw refusal(inside(place, "signal"), signal, "use an AbortSignal");
    }
    flagAt(inside(place, "throughBlocked"), throughBlocked);
    this.#parts.refuseInside();
    return await this.#waiting.wait(checkText(id, "the id of an execution"), options);
  }

  /** The execution as it is stored, or null. */
  async get(id: string): Promise<Execution | null> {
    const checked = checkText(id, "the id of an execution");
    await this.#begin();
    return (await this.#parts.load(checked))?.execution ?? null;
  }

  /**
   * Its attempts, in the order in which they ended, and last what is open as `running`: of a parallel, each of its
   * branches that run.
   *
   * @throws {SagaError} `not_found`
   */
  async attempts(id: string): Promise<readonly AttemptView[]> {
    const record = await this.#record(id, "list the attempts of");
    return [...record.attempts, ...rowsOfRunning(record)];
  }

  /**
   * Its signals that no step has consumed yet, oldest first.
   *
   * @throws {SagaError} `not_found`
   */
  async signals(id: string): Promise<readonly Signal[]> {
    return (await this.#record(id, "list the signals of")).signals;
  }

  /**
   * What people did to it and why, oldest first.
   *
   * @throws {SagaError} `not_found`
   */
  async operations(id: string): Promise<readonly Operation[]> {
    const { execution } = await this.#record(id, "list the operations of");
    return await this.#parts.store.operations(execution.id);
  }

  /**
   * Sends a signal. It is kept until a step waits for it, first come, first served; also while the execution is blocked.
   * A payload that the waiting step's schema refuses is refused here, if this engine knows the definition.
   *
   * @returns False if a signal with the same `signalId` was sent before.
   * @throws {SagaError} `not_found`; `wrong_state` if the execution is finished; `invalid_input`; `not_storable`
   */
  async signal(id: string, name: string, payload: Json = null, options: SignalOptions = {}): Promise<boolean> {
    const place: Place = { code: "invalid_options", action: "send a signal", path: "options" };
    const { signalId } = optionsAt(place, options, ["signalId", "actor", "reason"]);
    const { actor, reason } = operationOptions(place, options, ["signalId"]);
    const record = await this.#record(id, "signal");
    const signalName = checkText(name, "the name of a signal");
    const accepted = await this.#accepted(record, signalName, payload);
    const { clock, store } = this.#parts;
    const now = clock.now();
    const chance = this.#parts.draw("signal");
    const hasActor = actor !== undefined || reason !== undefined;
    const answer = await store.signal({
      id: rowId(now, chance, 0),
      executionId: id,
      name: signalName,
      payload: accepted,
      signalId: signalId === undefined ? null : checkText(signalId, "the id of a signal"),
      operation: hasActor
        ? {
          id: rowId(now, chance, 1),
          executionId: id,
          action: "signal",
          actor: actor ?? null,
          reason: reason ?? null,
          detail: { signal: signalName },
          at: now,
        }
        : null,
    });
    switch (answer.kind) {
      case "not_found":
        throw notFound(id, "signal");
      case "finished":
        throw new SagaError("wrong_state", `Cannot signal execution "${id}": it is ${answer.status}`, {
          details: { executionId: id, status: answer.status },
        });
      case "duplicate":
        return false;
      case "stored": {
        const { execution } = record;
        this.#parts.events.emit({ name: "saga.signalled", ...base(execution), signal: signalName });
        this.#nudge(execution);
        return true;
      }
      default:
        return answer satisfies never;
    }
  }

  /**
   * Another go from the step where it stands, with a full budget and a new deadline: for what failed, for what is
   * blocked, and for an undo that gave up.
   *
   * @throws {SagaError} `not_found`; `wrong_state`, also if somebody else was faster; `attempt_open`; `request_pending`;
   * `active_key_taken`, with the holder
   */
  async retry(id: string, options: OperationOptions = {}): Promise<Execution> {
    return await this.#operate(id, "retry", options);
  }

  /**
   * Undoes what was done. A running step ends first, and is undone as well if it took effect. Nothing happens if it is
   * being compensated already; where compensation gave up or is blocked, it is the same as `retry`.
   *
   * @throws {SagaError} `not_found`; `wrong_state`; `past_pivot`; `request_pending`
   */
  async compensate(id: string, options: OperationOptions = {}): Promise<Execution> {
    return await this.#operate(id, "compensate", options);
  }

  /**
   * Moves on as if the step, or the undo, where it stands had ended `skipped`: for what a person has settled by hand.
   * `result` is what the step was to add to the context, or to return in a workflow.
   *
   * @throws {SagaError} `not_found`; `wrong_state` unless it is blocked, being compensated or compensation_failed;
   * `attempt_open`; `request_pending`; `not_storable`
   */
  async skipStep(
    id: string,
    options: OperationOptions & { readonly result?: Json } = {},
  ): Promise<Execution> {
    const maxBytes = this.#parts.settings.maxJsonBytes;
    const limits = { what: "the result of a skipped step", maxBytes };
    const given: unknown = options?.result ?? null;
    const isObject = typeof given === "object" && !Array.isArray(given);
    const result = isObject || await this.#isSaga(id) ? storableObject(given, limits) : storable(given, limits);
    return await this.#operate(id, "skip_step", options, result);
  }

  /**
   * Ends it at once, as failed. Nothing is undone; what a running step comes to has no effect on the record.
   *
   * @throws {SagaError} `not_found`; `wrong_state` if it is finished
   */
  async terminate(id: string, options: OperationOptions = {}): Promise<Execution> {
    return await this.#operate(id, "terminate", options);
  }

  /**
   * Starts a finished execution's definition, version, input, resource and active key once more, as a new execution. If
   * another one holds the key, `created` is false. With `from`, the steps before that one are kept, with their keys.
   *
   * @throws {SagaError} `not_found`; `wrong_state` if it is not finished, or if a step before `from` has not ended or has
   * been undone; `unknown_definition`
   */
  async rerun(id: string, options: RerunOptions = {}): Promise<Started> {
    const place: Place = { code: "invalid_options", action: `run execution ${show(id)} again`, path: "options" };
    const { from } = optionsAt(place, options, ["actor", "reason", "from"]);
    const by = operationOptions(place, options, ["from"]);
    const record = await this.#record(id, "rerun");
    const { execution } = record;
    if (!isFinished(execution.status)) {
      throw new SagaError(
        "wrong_state",
        `Cannot run execution "${id}" again: it is ${execution.status}, not finished`,
        {
          details: { executionId: id, status: execution.status },
        },
      );
    }
    const definition = this.#parts.registry.get(execution.sagaName, execution.sagaVersion);
    if (definition === null) throw unknownDefinition(execution.sagaName, execution.sagaVersion);
    const again = await executionLike(this.#parts, execution, definition, place);
    const started = from === undefined
      ? await this.#start(again)
      : await startFrom(this.#parts, record, again, { definition, from, place });
    const detail = { executionId: started.execution.id, ...(typeof from === "string" ? { from } : {}) };
    await this.#note(record, by, detail);
    return started;
  }

  /**
   * Which definitions and versions unfinished executions need, and how many: before a version is taken out of the code.
   * Blocked executions count, too.
   */
  async versionsInUse(): Promise<readonly VersionInUse[]> {
    await this.#begin();
    const { registry, store } = this.#parts;
    const found = await store.versionsInUse();
    return found.map((one) => ({ ...one, isRegistered: registry.get(one.name, one.version) !== null }));
  }

  /**
   * Whether this engine's definitions fit what is under way, before they are deployed: follows every unfinished execution
   * as far as it is recorded, without running the code of any step and without writing anything.
   *
   * @param onProgress Told after each hundred executions how many have been looked at.
   */
  async checkDeploy(onProgress: (checked: number) => void = () => {}): Promise<DeployCheck> {
    await this.#begin();
    return await checkDeploy(this.#parts, onProgress);
  }

  /**
   * What compensate() would undo, in order, without doing it.
   *
   * @throws {SagaError} `not_found`
   */
  async compensationPlan(id: string): Promise<CompensationPlan> {
    return await compensationPlan(this.#parts, checkText(id, "the id of an execution"));
  }

  /**
   * Sends a hint for an execution: after the commit of the transaction in which it was started, so that it need not wait
   * for a sweep. Harmless at any other time.
   */
  async dispatch(id: string): Promise<void> {
    const record = await this.#record(id, "dispatch");
    this.#nudge(record.execution);
  }

  /**
   * Looks after executions that are overdue: sends each another hint; gives up those on which hints have had no effect.
   * Workers do this by themselves; this is for a cron job, or a person.
   *
   * @throws {SagaError} `invalid_options`
   */
  async resumeStuck(options: ResumeOptions = {}): Promise<Resumed> {
    await this.#begin();
    const consumed = [...this.#workers].flatMap((worker) => [...worker.slots.keys()]);
    return await resumeStuck(this.#parts, options, consumed);
  }

  /**
   * One sentence, and the data behind it, on why an execution is not moving.
   *
   * @throws {SagaError} `not_found`
   */
  async explain(id: string): Promise<Explanation> {
    const record = await this.#record(id, "explain");
    const { clock, registry, settings, store } = this.#parts;
    const { sagaName, sagaVersion } = record.execution;
    const definition = registry.get(sagaName, sagaVersion);
    return explain(record, {
      now: clock.now(),
      plan: definition === null ? null : await planOver(this.#parts, definition, record),
      workers: await store.workers.list(clock.now()),
      stalledAfterMs: settings.stalledAfterMs,
    });
  }

  /** Whether store and exchange work, and what this engine's workers do. Never rejects. */
  async health(): Promise<EngineHealth> {
    const { exchange, store } = this.#parts;
    const storeHealth = await store.now().then(
      () => ({ ok: true, detail: store.kind }),
      (error: unknown) => ({ ok: false, detail: error instanceof Error ? error.message : String(error) }),
    );
    const exchangeHealth = await exchange.health();
    const sweeps = [...this.#workers].map((worker) => worker.lastSweepAt).filter((at) => at !== null);
    return {
      ok: storeHealth.ok && exchangeHealth.ok,
      store: storeHealth,
      exchange: exchangeHealth,
      partitions: [...new Set([...this.#workers].flatMap((worker) => [...worker.slots.keys()]))],
      lastSweepAt: sweeps.length === 0 ? null : Math.max(...sweeps),
    };
  }

  /**
   * Deletes finished executions, the oldest first, with everything that belongs to them. Their ids are free again.
   * What a workflow has called goes after it. Returns how many; call it until it returns less than the limit.
   *
   * @throws {SagaError} `invalid_options`
   */
  async prune(options: RetentionOptions): Promise<number> {
    const place: Place = { code: "invalid_options", action: "prune", path: "options" };
    const checked = optionsAt(place, options, ["finishedBefore", "statuses", "limit"]);
    const { finishedBefore } = checked;
    const before = finishedBefore instanceof Date ? finishedBefore.getTime() : finishedBefore;
    if (typeof before !== "number" || !(Math.abs(before) < 8.64e15)) {
      throw refusal(inside(place, "finishedBefore"), finishedBefore, "use a Date, or milliseconds since 1970");
    }
    const limit = checked.limit === undefined
      ? DEFAULT_PRUNE_LIMIT
      : wholeNumberAt(inside(place, "limit"), checked.limit, { min: 1, max: 100_000 });
    return await this.#parts.store.prune({
      finishedBefore: before,
      statuses: statusesOf(checked.statuses, place),
      limit,
    });
  }

  /**
   * Listens to events of one name, or to all (`"*"`). They come after their commit, at most once, in the order of the
   * commits of this process. A listener that throws is logged and harms nothing. Returns what stops listening.
   */
  on<Name extends SagaEventName>(name: Name, listener: SagaListener<Name>): () => void;
  /** Listens to the events of all names. */
  on(name: "*", listener: (event: SagaEvent) => void): () => void;
  on(name: SagaEventName | "*", listener: (event: never) => void): () => void {
    const place: Place = { code: "invalid_options", action: "listen", path: "name" };
    if (name !== "*" && !isEventName(name)) throw refusal(place, name, 'use "*" or the name of an event');
    if (typeof listener !== "function") throw refusal({ ...place, path: "listener" }, listener, "use a function");
    return this.#parts.events.on(name, listener as (event: SagaEvent) => unknown);
  }

  /** Stops its workers, sends what hints are left, and closes what it opened itself. May be called twice. */
  close(options: StopOptions = {}): Promise<void> {
    this.#closing ??= this.#close(stopMs(options));
    return this.#closing;
  }

  /** As {@linkcode Engine.close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(deadlineMs: number): Promise<void> {
    await Promise.allSettled(this.#starting.items.map(({ end }) => end));
    await Promise.all([...this.#workers].map((worker) => worker.stop({ deadlineMs })));
    this.#workers.clear();
    await this.#parts.flushHints();
    this.#waiting.close();
    await this.#ownExchange?.close();
  }

  /** Before what depends on the time: the offset to the database's clock, which may have changed since it was known. */
  #begin(): Promise<void> {
    if (this.#closing !== null) return Promise.reject(closed("use the engine"));
    const { clock, store } = this.#parts;
    if (!clock.isOlderThan(COMPARE_EVERY_MS)) return Promise.resolve();
    this.#comparing ??= clock.follow(() => store.now()).then(() => {}).finally(() => this.#comparing = null);
    return this.#comparing;
  }

  async #start(execution: Execution, tx?: unknown): Promise<Started> {
    if (this.#closing !== null) throw closed("start an execution");
    const end = start(this.#parts, execution, { tx, worker: this.#workerFor(execution.partition) });
    const starting = this.#starting.add({ end, place: -1 });
    try {
      const started = await end;
      // The worker goes on with this very object: the caller must not be able to change it.
      Object.freeze(started.execution);
      return started;
    } finally {
      this.#starting.remove(starting);
    }
  }

  #known(definition: unknown): Definition {
    const { name, version } = (definition ?? {}) as Partial<Definition>;
    const known = typeof name === "string" && typeof version === "number"
      ? this.#parts.registry.get(name, version)
      : null;
    if (known !== null) return known;
    if (typeof name === "string") throw unknownDefinition(name, version);
    throw new SagaError(
      "unknown_definition",
      `Cannot find the definition ${show(definition)}: use what saga() returns`,
    );
  }

  #workerFor(partition: string): WorkerLoop | null {
    for (const worker of this.#workers) if (!worker.isStopping && worker.slots.has(partition)) return worker;
    return null;
  }

  #workerName(): string {
    return `worker-${this.#parts.draw("").bits.slice(0, 8)}`;
  }

  #onWake(at: Instant, partition: string): void {
    for (const worker of this.#workers) if (worker.slots.has(partition)) worker.onWake(at, partition);
  }

  /** Somebody should look now: by a hint if one reaches anybody, or by our own sweep. */
  #nudge(execution: Execution): void {
    if (this.#parts.exchange.reaches(execution.partition)) this.#parts.publish([hintOf(execution)]);
    else this.#onWake(this.#parts.clock.now(), execution.partition);
  }

  async #record(id: unknown, what: string): Promise<ExecutionRecord> {
    await this.#begin();
    const record = await this.#parts.load(checkText(id, "the id of an execution"));
    if (record === null) throw notFound(String(id), what);
    return record;
  }

  async #operate(
    id: string,
    action: Parameters<typeof operate>[2],
    options: OperationOptions & { readonly result?: Json },
    result: Json = null,
  ): Promise<Execution> {
    const place: Place = { code: "invalid_options", action: `${verb(action)} execution ${show(id)}`, path: "options" };
    const by = operationOptions(place, options, action === "skip_step" ? ["epoch", "result"] : ["epoch"]);
    await this.#begin();
    return await operate(this.#parts, checkText(id, "the id of an execution"), action, { ...by, result });
  }

  async #isSaga(id: string): Promise<boolean> {
    const { sagaName, sagaVersion } = (await this.#record(id, "skip a step of")).execution;
    return this.#parts.registry.get(sagaName, sagaVersion)?.kind === "saga";
  }

  async #accepted(record: ExecutionRecord, name: string, payload: unknown): Promise<Json> {
    const { sagaName, sagaVersion } = record.execution;
    const definition = this.#parts.registry.get(sagaName, sagaVersion);
    const schema = definition === null ? null : await this.#schemaOf(definition, record, name);
    const what = `the payload of signal "${name}"`;
    const accepted = schema === null ? payload : await validate(schema, payload, what);
    // A workflow's wait puts it through the schema again: on each pass, like everything that its function gets.
    const kept = definition?.kind === "workflow" ? payload : accepted;
    return storable(kept, { what, maxBytes: this.#parts.settings.maxJsonBytes });
  }

  /** What the step that takes the signal asks of its payload; of a workflow it is known once it waits for it. */
  async #schemaOf(definition: Definition, record: ExecutionRecord, signal: string): Promise<StandardSchema | null> {
    if (definition.kind === "saga") return definition.code.get(signal)?.schema ?? null;
    const { waitingFor } = record.execution;
    if (waitingFor === null || !waitingFor.split("\n").includes(signal)) return null;
    const pass = new Pass(this.#parts, definition, new AbortController().signal);
    // Where the function takes its time, the wait itself says what it makes of the payload.
    const isThere = await pass.starts(record);
    const schema = isThere ? pass.code.get(record.execution.currentStep)?.schema ?? null : null;
    pass.forget();
    return schema;
  }

  /** An audit row beside the execution that it is about. */
  async #note(record: ExecutionRecord, options: OperationOptions, detail: JsonObject): Promise<void> {
    const by = { actor: options.actor ?? null, reason: options.reason ?? null };
    const operation = auditRow(record, "rerun", by, detail, this.#parts.making("operator"));
    // Another operator may note something at the same time.
    for (
      let current: ExecutionRecord | null = record;
      current !== null;
      current = await this.#parts.load(operation.executionId)
    ) {
      const answer = await this.#parts.commit(changeOf(current.execution, {}, { operations: [operation] }));
      if (answer.kind !== "stale") return;
    }
  }
}

/** For the tests of the simulator, which put wrong decisions in the place of the right ones. */
export const DECISIONS_OPTION: unique symbol = Symbol("decisions");

function unknownDefinition(name: unknown, version: unknown): SagaError {
  return new SagaError(
    "unknown_definition",
    `Cannot find the definition ${show(name)} version ${show(version)}: register it with the engine's definitions`,
  );
}

function closed(what: string): SagaError {
  return new SagaError("closed", `Cannot ${what}: the engine was closed`);
}
