/** What is wrong with a run, compared with one in which nothing went wrong that did not have to. */

import { countedAtCursor } from "../../src/domain/attempts.ts";
import type { ExecutionRecord } from "../../src/domain/record.ts";
import { stepOf } from "../../src/domain/plan.ts";
import { NonRetryable } from "../../src/errors.ts";
import { callOf, isBefore } from "./faults.ts";
import { compareLedgers } from "./ledger.ts";
import { type Ran, runOnce, type RunSetup } from "./run.ts";

/** What can be wrong with a run. */
export type ProblemKind =
  /** An effect that a correct run has is missing. */
  | "lost"
  /** An effect took place more often than in a correct run. */
  | "doubled"
  /** The execution went back, and an effect is left. */
  | "undo_missing"
  /** It is blocked, or its compensation failed: a person has to look at it. */
  | "needs_person"
  /** It ended otherwise than the clean run, and not because its tries or its time were used up. */
  | "other_end"
  /** It did not end in time. */
  | "stuck"
  /** The start or a signal was refused. */
  | "refused"
  /** `check` threw. */
  | "check";

/** Something that is wrong with a run. */
export interface Problem {
  readonly kind: ProblemKind;
  /** Lines of the ledger, or a sentence. */
  readonly details: readonly string[];
}

/** Judges runs by the clean one, and by runs without a crash that end as they did. */
export class Judge {
  readonly #setup: RunSetup;
  readonly #clean: Ran;
  readonly #acceptsPerson: boolean;
  readonly #failedAt = new Map<string, Promise<Ran>>();

  constructor(setup: RunSetup, clean: Ran, options: { readonly mayNeedPerson: boolean }) {
    this.#setup = setup;
    this.#clean = clean;
    this.#acceptsPerson = options.mayNeedPerson;
  }

  /** The problems of a run; none if all is as it should be. */
  async problemsOf(ran: Ran): Promise<readonly Problem[]> {
    const { record } = ran;
    if (ran.end === "refused") return [{ kind: "refused", details: [String(ran.error)] }];
    if (ran.end === "stuck" || record === null) return [{ kind: "stuck", details: [describeState(record)] }];
    if (endOf(record) === endOf(this.#clean.record)) return this.#compare(ran, this.#clean);
    if (needsPerson(record)) {
      if (!this.#acceptsPerson && !needsPerson(this.#clean.record)) {
        return [{ kind: "needs_person", details: [describeState(record)] }];
      }
      // What is still to be done is a person's affair; what was done twice is wrong all the same.
      return this.#compare(ran, this.#clean).filter(({ kind }) => kind === "doubled");
    }
    if (!isGivenUp(record, this.#setup)) {
      const details = [`${describeState(record)}; without faults it is ${describeState(this.#clean.record)}`];
      return [{ kind: "other_end", details }];
    }
    const reference = await this.#failingAt(record.execution.failure?.step ?? "");
    if (endOf(reference.record) !== endOf(record)) return [];
    return this.#compare(ran, reference);
  }

  /** The codes that ran more often than without faults: what is wrong is probably theirs. */
  suspectsOf(ran: Ran): readonly string[] {
    const before = codeRuns(this.#clean);
    return [...codeRuns(ran)].filter(([code, count]) => count > (before.get(code) ?? 0)).map(([code]) => code);
  }

  #compare(ran: Ran, reference: Ran): readonly Problem[] {
    const { missing, repeated, foreign } = compareLedgers(reference.ledger, ran.ledger);
    const wentBack = ran.record?.execution.direction === "compensate" || ran.record?.execution.status === "failed";
    const problems: Problem[] = [
      { kind: "lost", details: missing },
      { kind: "doubled", details: wentBack ? repeated : [...repeated, ...foreign] },
      { kind: "undo_missing", details: wentBack ? foreign : [] },
    ];
    return problems.filter(({ details }) => details.length > 0);
  }

  /** A run whose only fault is that a step is refused for good, or that its signal never comes. */
  #failingAt(step: string): Promise<Ran> {
    const known = this.#failedAt.get(step) ?? runOnce(this.#setup, {
      withheld: step,
      prepare: (points) =>
        points.at(`step.${step}.run:before`, () => {
          throw new NonRetryable("Refused for good, to see what is left then");
        }),
    });
    this.#failedAt.set(step, known);
    return known;
  }
}

/** How it ended, in one word. */
function endOf(record: ExecutionRecord | null): string {
  if (record === null) return "nothing";
  const { blockedReason, status } = record.execution;
  return blockedReason === null ? status : `blocked as ${blockedReason}`;
}

function needsPerson(record: ExecutionRecord | null): boolean {
  const status = record?.execution.status;
  return status === "blocked" || status === "compensation_failed";
}

/** Whether it turned back because of the faults: tries or time were used up by them. */
function isGivenUp(record: ExecutionRecord, { definition }: RunSetup): boolean {
  const { failure, status } = record.execution;
  if (failure === null || (status !== "compensated" && status !== "failed")) return false;
  if (failure.class === "DeadlineExceeded" || failure.class === "WaitTimeout") return true;
  const step = failure.step === null ? null : stepOf(definition.plan, failure.step);
  if (step === null) return false;
  const execution = { ...record.execution, currentStep: step.name, direction: "execute" as const };
  const counted = countedAtCursor({ ...record, execution });
  const byFault = counted.some((row) => row.status === "abandoned" || row.errorClass === "FaultInjected");
  return byFault && counted.length >= step.retry.attempts;
}

/** The state in a few words: `blocked as crashed at "charge" (the worker vanished …)`. */
function describeState(record: ExecutionRecord | null): string {
  if (record === null) return "not stored";
  const { compensationFailure, currentStep, direction, failure } = record.execution;
  const why = direction === "compensate" ? compensationFailure ?? failure : failure;
  const where = endOf(record) === "completed" ? "" : ` at ${JSON.stringify(currentStep)}`;
  return `${endOf(record)}${where}${why === null ? "" : ` (${why.class}: ${why.message})`}`;
}

function codeRuns({ passed }: Ran): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const point of passed.flat()) {
    if (!point.startsWith("step.") || !isBefore(point)) continue;
    const call = callOf(point);
    counts.set(call, (counts.get(call) ?? 0) + 1);
  }
  return counts;
}
