/** What is wrong with a run, compared with one in which nothing went wrong that did not have to. */

import { countedAtCursor } from "../../src/domain/attempts.ts";
import type { Attempt, ExecutionRecord } from "../../src/domain/record.ts";
import { type Plan, stepOf } from "../../src/domain/plan.ts";
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
    if (ran.end === "refused") return [{ kind: "refused", details: [String(ran.error)] }];
    if (ran.end === "stuck" || ran.record === null) return [{ kind: "stuck", details: [describeState(ran.record)] }];
    const record = decisiveOf(ran) ?? ran.record;
    const clean = decisiveOf(this.#clean);
    const givenUp = stepsGivenUp(ran, this.#setup);
    if (endOf(record) === endOf(clean)) {
      const problems = this.#compare(ran, this.#clean);
      // A workflow may take another way around a step that was given up, and end as well as it does without faults.
      const isAnotherWay = this.#setup.definition.kind === "workflow" && givenUp.length > 0;
      if (problems.length === 0 || !isAnotherWay) return problems;
    }
    if (needsPerson(record)) {
      if (!this.#acceptsPerson && !needsPerson(clean)) {
        return [{ kind: "needs_person", details: [describeState(record)] }];
      }
      // What is still to be done is a person's affair; what was done twice is wrong all the same.
      return this.#compare(ran, this.#clean).filter(({ kind }) => kind === "doubled");
    }
    if (givenUp.length === 0) {
      const details = [`${describeState(record)}; without faults it is ${describeState(clean)}`];
      return [{ kind: "other_end", details }];
    }
    const reference = await this.#failingAt(givenUp);
    if (endOf(decisiveOf(reference)) !== endOf(record)) return [];
    return this.#compare(ran, reference);
  }

  /** The codes that ran more often than without faults: what is wrong is probably theirs. */
  suspectsOf(ran: Ran): readonly string[] {
    const before = codeRuns(this.#clean);
    const calls = new Set(
      recordsOf(ran).flatMap(({ attempts }) => attempts.filter(isOfCall).map((row) => row.stepName)),
    );
    return [...codeRuns(ran)].filter(([code, count]) => count > (before.get(code) ?? 0)).map(([code]) => code)
      .filter((code) => !calls.has(stepOfCode(code)));
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

  /** A run whose only fault is that steps are refused for good, or that their signals never come. */
  #failingAt(steps: readonly string[]): Promise<Ran> {
    const key = JSON.stringify(steps);
    const known = this.#failedAt.get(key) ?? runOnce(this.#setup, {
      withheld: new Set(steps.flatMap((step) => this.#clean.awaited.get(step) ?? [step])),
      prepare: (points) => {
        for (const step of steps) {
          points.at(`step.${step}.run:before`, () => {
            throw new NonRetryable("Refused for good, to see what is left then");
          });
        }
      },
    });
    this.#failedAt.set(key, known);
    return known;
  }
}

/** The execution and what it called. */
function recordsOf({ children, record }: Ran): readonly ExecutionRecord[] {
  return record === null ? children : [record, ...children];
}

/** The record that says how the run ended: that of a blocked execution, where the first one waits for it. */
function decisiveOf(ran: Ran): ExecutionRecord | null {
  const isWaiting = ran.end === "blocked" && ran.record?.execution.status !== "blocked";
  const blocked = isWaiting ? ran.children.find(({ execution }) => execution.status === "blocked") : undefined;
  return blocked ?? ran.record;
}

function isOfCall({ kind }: Attempt): boolean {
  return kind === "call" || kind === "call_result";
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

/** The steps that were given up because of the faults: their tries or their time were used up by them. */
function stepsGivenUp(ran: Ran, setup: RunSetup): readonly string[] {
  const found = recordsOf(ran).flatMap((record) => {
    const { sagaName } = record.execution;
    const definition = [setup.definition, ...setup.called].find((one) => one.name === sagaName);
    if (definition?.kind === "workflow") return stepsGivenUpInWorkflow(record);
    return isGivenUp(record, definition?.plan ?? setup.definition.plan) ? [record.execution.failure?.step ?? ""] : [];
  });
  return [...new Set(found)].sort();
}

/** Whether a saga turned back because of the faults. */
function isGivenUp(record: ExecutionRecord, plan: Plan): boolean {
  const { failure, status } = record.execution;
  if (failure === null || (status !== "compensated" && status !== "failed")) return false;
  if (failure.class === "DeadlineExceeded" || failure.class === "WaitTimeout") return true;
  const step = failure.step === null ? null : stepOf(plan, failure.step);
  if (step === null) return false;
  const execution = { ...record.execution, currentStep: step.name, direction: "execute" as const };
  const counted = countedAtCursor({ ...record, execution });
  return counted.some(isByFault) && counted.length >= step.retry.attempts;
}

/** A workflow's steps are known by their rows: one without a good end, whose last try was not to be repeated. */
function stepsGivenUpInWorkflow({ attempts, execution }: ExecutionRecord): readonly string[] {
  const forward = attempts.filter((row) => row.direction === "execute");
  const names = [...new Set(forward.map((row) => row.stepName))];
  const failed = names.filter((name) => {
    const rows = forward.filter((row) => row.stepName === name);
    if (rows.some((row) => row.status === "succeeded" || row.status === "skipped")) return false;
    return rows.at(-1)?.retryAt === null && rows.some(isByFault);
  });
  const { class: name, step } = execution.failure ?? {};
  if (failed.length === 0 && name === "DeadlineExceeded") return [step ?? ""];
  return failed;
}

function isByFault({ errorClass, status }: Attempt): boolean {
  return status === "abandoned" || errorClass === "FaultInjected" || errorClass === "WaitTimeout";
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

/** `charge` for `step.charge.undo`. */
function stepOfCode(code: string): string {
  return code.slice("step.".length, code.lastIndexOf("."));
}
