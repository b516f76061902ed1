/** A workflow's function as a turn goes through it: decide, let the function go on, decide on. */

import type { Definition, StepCode } from "../definition/definition.ts";
import { WorkflowRun } from "../definition/workflow_run.ts";
import { advance, type Change } from "../domain/change.ts";
import type { ErrorData } from "../domain/failure.ts";
import type { Followed, FollowOptions } from "../domain/follow.ts";
import type { Plan } from "../domain/plan.ts";
import type { ExecutionRecord } from "../domain/record.ts";
import { SagaError } from "../errors.ts";
import { callCode } from "./calls.ts";
import type { Parts } from "./parts.ts";
import { viewOf } from "./perform.ts";

/** The passes of one turn; there is one at a time. */
export class Pass {
  readonly #parts: Parts;
  readonly #definition: Definition;
  readonly #gone: AbortSignal;
  #run: WorkflowRun | null = null;
  /** The function knows of something that is not committed, and may never be. */
  #isAhead = false;
  #isOnItsWay = false;
  #refusedOutput: ErrorData | null = null;

  constructor(parts: Parts, definition: Definition, gone: AbortSignal) {
    this.#parts = parts;
    this.#definition = definition;
    this.#gone = gone;
  }

  /** What the function has called for so far. */
  get plan(): Plan {
    const plan = this.#run?.plan ?? this.#definition.plan;
    if (this.#refusedOutput === null || plan.end?.kind !== "returned") return plan;
    return { ...plan, end: { kind: "unusable", reason: "not_storable", error: this.#refusedOutput } };
  }

  /** Hears of calls that the function must not make; null while there is no function under way. */
  get onRefusal(): ((listener: (error: ErrorData) => void) => () => void) | null {
    const run = this.#run;
    return run === null ? null : (listener) => run.onRefusal(listener);
  }

  /** Its code, by step name. */
  get code(): ReadonlyMap<string, StepCode> {
    return this.#run?.code ?? this.#definition.code;
  }

  /** Whether the last decision waits for the function, which is busy with something else than its steps. */
  get isOnItsWay(): boolean {
    return this.#isOnItsWay;
  }

  /** Sees to it that the function has arrived where the record ends; false if it takes too long. */
  async begin(record: ExecutionRecord): Promise<boolean> {
    return await this.starts(record) || await this.arrives();
  }

  /** The same, without waiting for a function that is busy with something else than its steps. */
  async starts(record: ExecutionRecord): Promise<boolean> {
    if (this.#isAhead) this.forget();
    this.#run ??= startRun(this.#parts, this.#definition, record);
    return await this.#run.settle();
  }

  /** Follows the record, and takes the function along. */
  async follow(record: ExecutionRecord, options: FollowOptions, before: Change | null): Promise<Followed> {
    const { decisions, settings } = this.#parts;
    let change = before;
    for (;;) {
      const followed = decisions.follow(record, this.plan, options, change);
      this.#isOnItsWay = followed.last.kind === "continue";
      const run = this.#run;
      if (followed.last.kind !== "continue" || run === null) return followed;
      change = followed.change;
      const current = change === null ? record : advance(record, change);
      this.#isAhead ||= change !== null;
      if (!run.continue(current)) throw stuck(current);
      if (!(await run.settle())) return followed;
      if (settings.development) await this.#compare(run, current);
    }
  }

  /** The database does not take what the function returns; false if that was known already. */
  refuseOutput(detail: string): boolean {
    if (this.#refusedOutput !== null) return false;
    const message = `The database refused the output of workflow "${this.#definition.name}": ${detail}`;
    this.#refusedOutput = { class: "NotStorable", message, backtrace: null, cause: null };
    return true;
  }

  /** Everything that the function knows of is stored. */
  committed(): void {
    this.#isAhead = false;
  }

  /** The record is another one than the function has gone through. */
  forget(): void {
    this.#run?.end();
    this.#run = null;
    this.#isAhead = false;
    this.#isOnItsWay = false;
  }

  /** Waits for the function, for no longer than a lease. */
  async arrives(): Promise<boolean> {
    const run = this.#run;
    if (run === null) return false;
    const { clock, logger, settings } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = () => resolve();
    const cancel = clock.setTimer(settings.leaseMs, stop);
    this.#gone.addEventListener("abort", stop, { once: true });
    await Promise.race([run.arrival, promise]);
    // The worker outlives the turn, and so would what listens to its end.
    this.#gone.removeEventListener("abort", stop);
    cancel();
    if (!run.hasArrived && !this.#gone.aborted) {
      const last = run.plan.steps.at(-1)?.name;
      const where = last === undefined ? "before its first step" : `after "${last}"`;
      logger.warn(
        `The function of workflow "${this.#definition.name}" has not called for anything for ${settings.leaseMs} ms ` +
          `${where}; put what takes long inside of a step`,
      );
    }
    return run.hasArrived;
  }

  /** A second pass over the same record has to come to the same. */
  async #compare(run: WorkflowRun, record: ExecutionRecord): Promise<void> {
    const again = startRun(this.#parts, this.#definition, record);
    await again.settle();
    const isBehind = again.plan.end?.kind === "more" && run.plan.end?.kind !== "more";
    if (isBehind || again.plan.steps.length < run.plan.steps.length) {
      // It stands where a step has failed for good, and is to say what it makes of that.
      again.continue(record);
      await again.settle();
    }
    const [first, second] = [summaryOf(run.plan), summaryOf(again.plan)];
    again.end();
    const index = first.findIndex((line, at) => line !== second[at]);
    if (index < 0 && first.length === second.length) return;
    const at = index < 0 ? first.length : index;
    this.#parts.logger.error(
      `Two passes of workflow "${this.#definition.name}" over execution ${record.execution.id} differ: ` +
        `the first came to ${first[at] ?? "nothing"}, the second to ${second[at] ?? "nothing"}; ` +
        "keep what changes from pass to pass inside of steps",
    );
  }
}

/** A pass of a workflow's function over a record. */
export function startRun(parts: Parts, definition: Definition, record: ExecutionRecord): WorkflowRun {
  const { settings, store } = parts;
  const execution = viewOf(record.execution);
  return new WorkflowRun(record, {
    definition,
    execution,
    maxJsonBytes: settings.maxJsonBytes,
    isBug: settings.isBug,
    transactional: store.transactional,
    callCode: (other, input, options) => callCode(parts, record, other, input, options),
  });
}

/** Deciding on without anything new would never end. */
function stuck({ execution }: ExecutionRecord): SagaError {
  return new SagaError(
    "internal",
    `Cannot go on with execution "${execution.id}": its record does not fit its function`,
  );
}

function summaryOf({ end, steps }: Plan): readonly string[] {
  const lines = steps.map(({ kind, name, parallel }) =>
    `"${name}" (${[kind, ...(parallel?.branches ?? []).map((branch) => branch.name)].join(", ")})`
  );
  switch (end?.kind) {
    case "returned":
      return [...lines, `its end with ${JSON.stringify(end.output)}`];
    case "threw":
    case "unusable":
      return [...lines, `the error ${end.error.class}: ${end.error.message}`];
    default:
      return lines;
  }
}
