/**
 * One pass of a workflow's function over what is recorded.
 *
 * The function is run from its beginning. A call of a step that is recorded settles with what is recorded; the first one
 * that is not, where the pass arrives, stays open until the engine has brought it about, or for ever: a sleep, a lost
 * lease or a stopping worker end the pass, and its promises never settle, so that no `catch` and no `finally` sees it.
 *
 * What the function has called for up to there is a plan, and what comes next is decided from it like from a saga's.
 */

import { settledSteps } from "../domain/attempts.ts";
import { describeError, type ErrorData } from "../domain/failure.ts";
import type { Json } from "../domain/json.ts";
import { RECIPE_ADVICE } from "../domain/next.ts";
import type { Plan, PlanEnd, PlanStep } from "../domain/plan.ts";
import type { Attempt, BlockedReason, ExecutionRecord, Instant } from "../domain/record.ts";
import { isThrown, SagaError, show, StepFailed } from "../errors.ts";
import type { AnyDefinition } from "./inference.ts";
import type { Definition, StepCode } from "./definition.ts";
import type { CallOptions, Flow } from "./flow.ts";
import { FlowChance } from "./flow_chance.ts";
import {
  compensatedHook,
  completedHook,
  flowCall,
  flowCallResult,
  flowName,
  flowParallel,
  type FlowPlace,
  flowSleep,
  type FlowStep,
  flowStep,
  flowWait,
  flowWaitForAny,
  hookAt,
  isMisuse,
  misuse,
} from "./flow_steps.ts";
import { validate } from "./schema.ts";
import type { ExecutionView } from "./scope.ts";
import { storable } from "./storable.ts";

/** What a pass needs to know of its engine. */
export interface RunOptions {
  readonly definition: Definition;
  readonly execution: ExecutionView;
  readonly maxJsonBytes: number;
  readonly isBug: (error: unknown) => boolean;
  /** Whether the store can run transactional steps. */
  readonly transactional: boolean;
  /** What starts, awaits and undoes another execution. */
  readonly callCode: (
    definition: AnyDefinition,
    input: unknown,
    options: CallOptions,
  ) => { readonly call: StepCode; readonly result: StepCode };
}

interface Call {
  readonly made: FlowStep;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A function that takes so many turns of the event loop's microtasks without a call waits for something else. */
const PATIENCE = 100;

/** A pass. */
export class WorkflowRun {
  readonly #options: RunOptions;
  readonly #steps: PlanStep[] = [];
  readonly #code = new Map<string, StepCode>();
  readonly #hooks = new Map<string, FlowStep>();
  readonly #refusalListeners = new Set<(error: ErrorData) => void>();
  #completed: ((position: number) => FlowStep) | null = null;
  #record: ExecutionRecord;
  #settled: readonly Attempt[];
  /** Names of the steps whose undo the record counts on. */
  readonly #undos: ReadonlySet<string>;
  readonly #names = new Set<string>();
  #end: PlanEnd = { kind: "more" };
  /** The call that has not settled for the function. */
  #inFlight: string | null = null;
  /** The call at which the pass has arrived. */
  #frontier: Call | null = null;
  #arrival = Promise.withResolvers<void>();
  #hasArrived = false;
  #isOver = false;
  /** The function itself has ended: what is called for now comes from elsewhere. */
  #hasReturned = false;
  #pastPivot = false;
  #now: Instant;
  readonly #chance: FlowChance;

  /** Begins a pass over the record. */
  constructor(record: ExecutionRecord, options: RunOptions) {
    this.#record = record;
    this.#options = options;
    this.#settled = settledSteps(record);
    this.#undos = new Set(
      record.attempts.filter((row) => row.direction === "execute" && row.undo !== "none").map((row) => row.stepName),
    );
    this.#now = record.execution.startedAt;
    this.#chance = new FlowChance(this.#chanceAt(0));
    void this.#go();
  }

  /** What the function has called for so far. */
  get plan(): Plan {
    const { name, version, deadlineMs } = this.#options.definition.plan;
    return {
      name,
      version,
      deadlineMs,
      steps: this.#steps,
      end: this.#end,
      compensatedHook: this.#hooks.get("compensated")?.step ?? null,
    };
  }

  /** The code of the steps that it has called for, by name; branches included. */
  get code(): ReadonlyMap<string, StepCode> {
    return this.#code;
  }

  /** Whether it stands at a call that is not recorded, or has ended. */
  get hasArrived(): boolean {
    return this.#hasArrived;
  }

  /** Resolves once it has arrived; never, if the function waits for something that never comes. */
  get arrival(): Promise<void> {
    return this.#arrival.promise;
  }

  /** Lets the function run as far as it comes without waiting for anything but its steps; whether it has arrived. */
  async settle(): Promise<boolean> {
    let seen = -1;
    for (let patience = PATIENCE; !this.#hasArrived && patience > 0; patience--) {
      if (this.#steps.length !== seen) patience = PATIENCE;
      seen = this.#steps.length;
      await null;
    }
    return this.#hasArrived;
  }

  /** Goes on from where it has arrived, with what the step there has come to; false if that is not known. */
  continue(record: ExecutionRecord): boolean {
    const call = this.#frontier;
    this.#record = record;
    this.#settled = settledSteps(record);
    if (call === null || this.#end.kind !== "more") return !this.#hasArrived;
    const row = this.#settled[call.made.step.position] ??
      record.attempts.findLast((one) => one.stepName === call.made.step.name && one.direction === "execute");
    if (row === undefined) return false;
    this.#frontier = null;
    this.#hasArrived = false;
    this.#arrival = Promise.withResolvers<void>();
    this.#deliver(call, row);
    return true;
  }

  /** Ends the pass: whatever the function does from here on has no effect. */
  end(): void {
    this.#isOver = true;
  }

  /** Hears of a call that was refused: code that waits for it waits for ever. Returns what stops listening. */
  onRefusal(listener: (error: ErrorData) => void): () => void {
    this.#refusalListeners.add(listener);
    return () => void this.#refusalListeners.delete(listener);
  }

  /** What is drawn before a step that was kept from another execution is what that one drew: it led to the step. */
  #chanceAt(position: number): string {
    const { id, startToken } = this.#record.execution;
    const row = this.#settled[position];
    const end = `:${row?.stepName}`;
    return `${row?.key.endsWith(end) ? row.key.slice(0, -end.length) : id}\n${startToken}`;
  }

  async #go(): Promise<void> {
    const { definition } = this.#options;
    const input = copyOf(this.#record.execution.input);
    try {
      await null;
      const value = await definition.run?.(this.#flow() as never, input as never);
      await this.#returned(value);
    } catch (error) {
      this.#threw(error);
    }
  }

  async #returned(value: unknown): Promise<void> {
    this.#hasReturned = true;
    if (this.#isOver || this.#end.kind !== "more") return;
    if (this.#inFlight !== null) return this.#notAwaited(this.#inFlight);
    const { definition, maxJsonBytes } = this.#options;
    let output: Json;
    try {
      output = value === undefined
        ? null
        : storable(value, { what: `the output of workflow "${definition.name}"`, maxBytes: maxJsonBytes });
    } catch (error) {
      return this.#unusable("not_storable", describeError(error));
    }
    if (this.#completed !== null) await this.#add(this.#completed(this.#steps.length));
    if (this.#isOver || this.#end.kind !== "more") return;
    this.#end = { kind: "returned", output };
    this.#arrive();
  }

  #threw(error: unknown): void {
    this.#hasReturned = true;
    if (this.#isOver || this.#end.kind !== "more") return;
    if (this.#inFlight !== null) return this.#notAwaited(this.#inFlight);
    const data = describeError(error);
    if (isThrown(error, StepFailed)) {
      const { cause } = data;
      this.#end = { kind: "threw", error: cause ?? data, step: error.step };
    } else if (this.#isBug(error)) {
      return this.#unusable("bug", data);
    } else {
      this.#end = { kind: "threw", error: data, step: null };
    }
    this.#arrive();
  }

  #isBug(error: unknown): boolean {
    try {
      return this.#options.isBug(error) === true;
    } catch {
      return false; // an error that throws when it is looked at is hardly the runtime's own
    }
  }

  #notAwaited(name: string): void {
    const fact = `its function ended while step "${name}" was still running; await every call of flow`;
    void this.#refuse(misuse(this.#name, fact));
  }

  get #name(): string {
    return this.#options.definition.name;
  }

  #unusable(reason: BlockedReason, error: ErrorData): void {
    if (this.#end.kind === "unusable") return;
    this.#end = { kind: "unusable", reason, error };
    this.#arrive();
  }

  #arrive(): void {
    this.#hasArrived = true;
    this.#arrival.resolve();
  }

  /**
   * The function is wrong: nothing that it does from here on counts. What was refused never settles, since a rejection
   * that nobody waits for would end the whole process.
   */
  #refuse(error: SagaError): Promise<never> {
    this.#unusable("bug", this.#tell(error));
    return NEVER();
  }

  /** Whoever waits for the code of a step, an undo or a hook hears of it. */
  #tell(error: SagaError): ErrorData {
    const data = { ...describeError(error), class: "WorkflowMisuse" };
    for (const listener of this.#refusalListeners) listener(data);
    return data;
  }

  /** A call of a step: what it settles with is recorded, or the pass has arrived. */
  #call(name: unknown, make: (name: string, at: FlowPlace) => FlowStep): Promise<unknown> {
    if (this.#isOver) return NEVER();
    if (this.#end.kind !== "more") {
      if (this.#hasReturned) this.#tell(this.#afterItsEnd(name));
      return NEVER();
    }
    if (this.#inFlight !== null) return this.#refuse(this.#whileRunning(name));
    const at: FlowPlace = { workflow: this.#name, position: this.#steps.length, pastPivot: this.#pastPivot };
    try {
      const checked = flowName(name, at);
      if (this.#names.has(checked)) {
        const before = this.#steps.findIndex((step) => step.name === checked);
        throw misuse(
          this.#name,
          `step "${checked}" is there already at position ${before}; each step needs a name of its own`,
        );
      }
      // Code of the user's runs in there: that of a parallel, which is not to call for anything itself.
      this.#inFlight = checked;
      const step = make(checked, at);
      this.#inFlight = null;
      return this.#end.kind === "more" ? this.#add(step) : NEVER();
    } catch (error) {
      this.#inFlight = null;
      return this.#refuse(isMisuse(error) ? error as SagaError : misuse(this.#name, this.#factOf(error)));
    }
  }

  #whileRunning(name: unknown): SagaError {
    return misuse(
      this.#name,
      `step ${show(name)} was called while "${this.#inFlight}" was still running; await each call, ` +
        `do not call flow inside of a step, and write flow.parallel(name, (p) => ({ … })) instead of Promise.all`,
    );
  }

  #afterItsEnd(name: unknown): SagaError {
    const fact = `step ${
      show(name)
    } was called after its function had ended; do not call flow inside of an undo or a hook`;
    return misuse(this.#name, fact);
  }

  #add(made: FlowStep): Promise<unknown> {
    const { step } = made;
    const row = this.#settled[step.position];
    const difference = differenceOf(this.#record, row, step, this.#undos);
    if (difference !== null) {
      const { name, version } = this.#options.definition.plan;
      const message = `${name} v${version}: ${difference}`;
      this.#unusable("recipe_changed", { class: "RecipeChanged", message, backtrace: null, cause: null });
      return NEVER();
    }
    this.#steps.push(step);
    this.#names.add(step.name);
    const { wrap } = this.#options.definition;
    for (const [name, code] of made.code) this.#code.set(name, wrap === null ? code : wrap(name, code));
    this.#inFlight = step.name;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const call: Call = { made, resolve, reject };
    if (row === undefined) {
      this.#frontier = call;
      this.#arrive();
    } else {
      // Not before the function has had the chance to wait for it.
      void Promise.resolve().then(() => this.#deliver(call, row));
    }
    return expected(promise);
  }

  /** Settles a call with what is recorded of it. */
  #deliver(call: Call, row: Attempt): void {
    if (this.#isOver || this.#end.kind !== "more") return;
    const { step } = call.made;
    this.#inFlight = null;
    this.#now = Math.max(this.#now, row.finishedAt);
    this.#chance.move(this.#steps.length, this.#chanceAt(this.#steps.length));
    if (row.status !== "succeeded" && row.status !== "skipped") {
      const error = { class: row.errorClass ?? "Abandoned", message: row.errorMessage ?? "" };
      return call.reject(new StepFailed(step.name, error));
    }
    // One that was skipped has decided nothing: what came before can still be undone, and so must what comes after.
    if (step.kind === "pivot" && row.status === "succeeded") this.#pastPivot = true;
    const value = copyOf(this.#valueOf(call.made, row));
    if (step.kind !== "wait" || row.status === "skipped") return call.resolve(value);
    this.#receive(call, value);
  }

  /** Settles a wait with its signal, as its schema makes it. */
  #receive({ made, reject, resolve }: Call, value: unknown): void {
    const { code, isAny, step } = made;
    const payload = step.signals === null ? value : (value as { readonly payload: unknown }).payload;
    const resultOf = (accepted: unknown) => isAny ? { ...(value as object), payload: accepted } : accepted;
    const schema = code.get(step.name)?.schema ?? null;
    if (schema === null) return resolve(resultOf(payload));
    this.#inFlight = step.name;
    validate(schema, payload, `the payload of signal "${step.name}"`).then((accepted) => {
      this.#inFlight = null;
      resolve(resultOf(accepted));
    }, (error) => {
      this.#inFlight = null;
      reject(new StepFailed(step.name, { class: "InvalidSignal", message: describeError(error).message }));
    });
  }

  #valueOf({ branches, step }: FlowStep, row: Attempt): Json {
    if (step.parallel === null || row.result !== null) return row.result;
    const results: Record<string, Json> = {};
    for (const [full, short] of branches) {
      const ended = this.#record.attempts.findLast((one) =>
        one.stepName === full && (one.status === "succeeded" || one.status === "skipped")
      );
      results[short] = ended?.result ?? null;
    }
    return results;
  }

  #flow(): Flow<unknown> {
    const { execution, transactional } = this.#options;
    const needsSql = (name: string): SagaError =>
      misuse(this.#name, `step "${name}" is a transaction, and the store cannot run any; use a store with SQL`);
    const flow: { readonly [K in keyof Flow<unknown>]: unknown } = {
      execution,
      step: (name: unknown, run: unknown, options?: unknown) =>
        this.#call(name, (checked, at) => flowStep("step", checked, run, options, at)),
      transaction: (name: unknown, run: unknown, options?: unknown) =>
        this.#call(name, (checked, at) => {
          if (!transactional) throw needsSql(checked);
          return flowStep("transaction", checked, run, options, at);
        }),
      pivot: (name: unknown, run: unknown, options?: unknown) =>
        this.#call(name, (checked, at) => {
          const pivot = this.#steps.find((step) => step.kind === "pivot");
          if (pivot === undefined) return flowStep("pivot", checked, run, options, at);
          throw misuse(this.#name, `"${checked}" is a second pivot; use step(): "${pivot.name}" is the pivot already`);
        }),
      parallel: (name: unknown, declare: unknown, options?: unknown) =>
        this.#call(name, (checked, at) => {
          const made = flowParallel(checked, declare, options, at);
          const sql = made.step.parallel?.branches.find((branch) => branch.kind === "branch_transaction");
          if (sql !== undefined && !transactional) throw needsSql(sql.name);
          return made;
        }),
      sleep: (name: unknown, duration: unknown) =>
        expected(this.#call(name, (checked, at) => flowSleep(checked, duration, at)).then(() => {})),
      waitFor: (name: unknown, options?: unknown) => this.#call(name, (checked, at) => flowWait(checked, options, at)),
      waitForAny: (name: unknown, signals: unknown, options?: unknown) =>
        this.#call(name, (checked, at) => flowWaitForAny(checked, signals, options, at)),
      call: (definition: AnyDefinition, input: unknown, options: CallOptions = {}) =>
        expected(this.#callOther(definition, input, options)),
      abort: (reason: unknown) => this.#abort(reason),
      key: (name: string) => `${execution.id}:${name}`,
      on: (event: unknown, hook: unknown) => this.#on(event, hook),
      now: () => this.#now,
      random: () => this.#chance.random(),
      uuid: () => this.#chance.uuid(),
    };
    return Object.freeze(flow) as unknown as Flow<unknown>;
  }

  async #callOther(definition: AnyDefinition, input: unknown, options: CallOptions): Promise<unknown> {
    const name = options?.name ?? definition?.name;
    let code: ReturnType<RunOptions["callCode"]>;
    try {
      code = this.#options.callCode(definition, input, options ?? {});
    } catch (error) {
      return await this.#refuse(misuse(this.#name, this.#factOf(error)));
    }
    await this.#call(name, (checked, at) => flowCall(checked, code.call, at));
    if (this.#isOver || this.#end.kind !== "more") return await NEVER();
    if (this.#inFlight !== null) return await this.#refuse(this.#whileRunning(`${name}/result`));
    const at: FlowPlace = { workflow: this.#name, position: this.#steps.length, pastPivot: this.#pastPivot };
    return await this.#add(flowCallResult(`${name}/result`, code.result, at));
  }

  #abort(reason: unknown): never {
    if (this.#inFlight !== null) {
      const fact =
        `flow.abort() was called while "${this.#inFlight}" was still running; return fail(reason) from the step`;
      const error = misuse(this.#name, fact);
      void this.#refuse(error);
      throw error;
    }
    const message = typeof reason === "string" ? reason : describeError(reason).message;
    if (this.#end.kind === "more" && !this.#isOver) {
      const error = { class: "WorkflowAborted", message, backtrace: null, cause: null };
      this.#end = { kind: "threw", error, step: null };
      this.#arrive();
    }
    throw new SagaError("blocked", `The workflow "${this.#name}" has aborted: ${message}`);
  }

  #on(event: unknown, hook: unknown): void {
    try {
      const code = hookAt(event, hook, this.#name);
      if (this.#steps.length > 0) throw misuse(this.#name, `flow.on("${event}") comes after a step; declare it before`);
      if (this.#hooks.has(String(event))) throw misuse(this.#name, `flow.on("${event}") is declared twice`);
      const made = event === "completed" ? completedHook(code, 0) : compensatedHook(code);
      this.#hooks.set(String(event), made);
      if (event === "completed") this.#completed = (position) => completedHook(code, position);
      else for (const [name, own] of made.code) this.#code.set(name, this.#options.definition.wrap?.(name, own) ?? own);
    } catch (error) {
      void this.#refuse(isMisuse(error) ? error as SagaError : misuse(this.#name, this.#factOf(error)));
    }
  }

  /** What an error says, without what the message around it says already. */
  #factOf(error: unknown): string {
    const { message } = describeError(error);
    const said = misuse(this.#name, "").message;
    return message.startsWith(said) ? message.slice(said.length) : message;
  }
}

/** A promise whose rejection ends nobody's process, though nobody may be waiting for it yet. */
function expected<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** A promise that never settles: whoever waits for it is forgotten together with it. */
function NEVER(): Promise<never> {
  return new Promise(() => {});
}

/** What is recorded at the step's position, if it is another step, or lacks the undo that the record counts on. */
function differenceOf(
  record: ExecutionRecord,
  row: Attempt | undefined,
  step: PlanStep,
  undos: ReadonlySet<string>,
): string | null {
  // One that is tried again is not settled, and its kind is recorded all the same.
  const known = row ?? record.attempts.find((one) => one.stepName === step.name && one.direction === "execute");
  if (known !== undefined && (known.stepName !== step.name || known.kind !== step.kind)) {
    return `the record has "${known.stepName}" (${known.kind}) at position ${step.position}, and the function reaches ` +
      `"${step.name}" (${step.kind}); ${RECIPE_ADVICE}`;
  }
  const branches = step.parallel?.branches ?? [];
  if (branches.length > 0) {
    const prefix = `${step.name}/`;
    const lost = record.attempts.find((one) =>
      one.stepName.startsWith(prefix) && one.direction === "execute" && one.kind !== "call_result" &&
      !branches.some((branch) => branch.name === one.stepName)
    );
    if (lost !== undefined) {
      return `the record has the branch "${lost.stepName}", which the function no longer declares; ${RECIPE_ADVICE}`;
    }
    const added = row?.status === "succeeded" &&
      branches.find((branch) => !record.attempts.some((one) => one.stepName === branch.name));
    if (added) return `the parallel "${step.name}" has ended without the branch "${added.name}"; ${RECIPE_ADVICE}`;
  }
  for (const one of [step, ...branches]) {
    if (one.hasUndo || one.kind === "pivot") continue;
    if (undos.has(one.name)) {
      return `the record counts on an undo of "${one.name}", and the function no longer gives it one; ${RECIPE_ADVICE}`;
    }
  }
  return null;
}

/** A copy that the function may change. */
function copyOf(value: Json): unknown {
  return typeof value === "object" && value !== null ? JSON.parse(JSON.stringify(value)) : value;
}
