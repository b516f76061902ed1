/** The code of definitions, watched: who enters it, and whether it was its turn. */

import { finishedSteps } from "../../src/domain/attempts.ts";
import { COMPENSATED_HOOK, stepOf } from "../../src/domain/plan.ts";
import { undoables } from "../../src/domain/undo.ts";
import type { Definition, StepCode } from "../../src/definition/definition.ts";
import type { BaseScope } from "../../src/definition/scope.ts";
import type { Direction, ExecutionRecord, StepKind } from "../../src/domain/record.ts";
import { never, type Process } from "./process.ts";
import { attemptName, type World } from "./world.ts";

type Scope = BaseScope<unknown, unknown, unknown, unknown>;

/** Watches the code of all processes of one run. */
export class CodeWatch {
  readonly #world: World;
  readonly #entered = new Set<string>();
  /** Told of every entry, by a name of its own. */
  onEnter: (process: Process, executionId: string, name: string) => void = () => {};

  constructor(world: World) {
    this.#world = world;
  }

  /** The definition as a process runs it. */
  observed<D extends Definition>(definition: D, process: Process): D {
    const observe = (step: string, { run, undo, schema }: StepCode): StepCode => ({
      run: run === null ? null : this.#watch(definition, process, step, "execute", run as (scope: Scope) => unknown),
      undo: undo === null
        ? null
        : this.#watch(definition, process, step, "compensate", undo as (scope: Scope) => unknown),
      schema,
    });
    const code = new Map([...definition.code].map(([step, own]) => [step, observe(step, own)]));
    const wrap: Definition["wrap"] = definition.kind === "workflow"
      ? (step, own) => observe(step, definition.wrap?.(step, own) ?? own)
      : null;
    return { ...definition, code, wrap };
  }

  #watch(
    definition: Definition,
    process: Process,
    step: string,
    direction: Direction,
    body: (scope: Scope) => unknown,
  ): (scope: Scope) => unknown {
    return (scope) => {
      if (process.isDead) return never();
      const { id, epoch } = scope.execution;
      const doing = direction === "execute" ? "runs" : "undoes";
      this.#world.note(process.name, () => `${doing} ${step} of ${id} (attempt ${epoch}.${scope.attempt})`);
      const wrong = this.#findWrong(definition, { id, step, direction, epoch, attempt: scope.attempt });
      if (wrong !== null) this.#world.report(`${process.name} ${doing} ${step} of execution ${id}: ${wrong}`);
      const name = attemptName(id, { stepName: step, direction, epoch, attempt: scope.attempt });
      this.onEnter(process, id, name);
      this.#world.running.add(name);
      this.#world.beganIn.set(name, process.name);
      return this.#told(process, `${step} of ${id}`, this.#run(name, () => body(scope)));
    };
  }

  /** Runs the code, and notes that it does until it has settled. */
  async #run(name: string, body: () => unknown): Promise<unknown> {
    try {
      return await body();
    } finally {
      this.#world.running.delete(name);
    }
  }

  #told(process: Process, what: string, result: Promise<unknown>): Promise<unknown> {
    if (this.#world.history === null) return result;
    result.then(
      () => this.#world.note(process.name, () => `${what} returns`),
      (error: unknown) => this.#world.note(process.name, () => `${what} throws ${String(error)}`),
    );
    return result;
  }

  /** Code is begun with at least half of its lease left, so that it does not lose it at once. */
  #findLate({ execution }: ExecutionRecord, { attempt, epoch, step }: Entry, leaseMs: number): string | null {
    const { areClocksRight, clock } = this.#world;
    // A process whose clock is wrong cannot know better.
    if (!areClocksRight) return null;
    const branch = execution.openBranches?.find((open) => open.step === step);
    const isOpen = execution.owner !== null && epoch === execution.epoch &&
      attempt === (branch?.attempt ?? execution.attempt);
    if (!isOpen) return null;
    const leftMs = (execution.dueAt ?? 0) - clock.now();
    return leftMs >= leaseMs / 2 - TOLERANCE_MS ? null : `only ${leftMs} ms of its lease are left`;
  }

  #findWrong(definition: Definition, entry: Entry): string | null {
    const { attempt, direction, epoch, id, step } = entry;
    const record = this.#world.truth.get(id);
    if (record === undefined) return "there is no such execution";
    const kind = kindOf(record, entry);
    if (kind === null) return `attempt ${epoch}.${attempt} was never opened`;
    const name = `${id} ${step} ${direction} ${epoch}.${attempt}`;
    const mayRepeat = IN_TRANSACTIONS.has(kind) || kind === "call" || kind === "call_result";
    if (this.#entered.has(name) && !mayRepeat) return `attempt ${epoch}.${attempt} was begun before`;
    this.#entered.add(name);
    const leaseMs = stepOf(definition.plan, step)?.leaseMs ?? 0;
    // A transaction that waits for a connection loses nothing: it is rolled back if it comes too late.
    const late = IN_TRANSACTIONS.has(kind) ? null : this.#findLate(record, entry, leaseMs);
    if (late !== null) return late;
    return direction === "execute" ? findEarly(record, definition, step) : findUndoEarly(record, definition, step);
  }
}

/** An entry into code. */
interface Entry {
  readonly id: string;
  readonly step: string;
  readonly direction: Direction;
  readonly epoch: number;
  readonly attempt: number;
}

/**
 * What may run again under the same token: a transaction whose connection was lost, and so a hook on a store that has
 * transactions. Calls look as often as they have to, without a row for each.
 */
const IN_TRANSACTIONS: ReadonlySet<StepKind> = new Set(["transaction", "branch_transaction", "hook"]);

/** The kind of the attempt, as its opening or its row says; null if there is neither. */
function kindOf({ attempts, execution }: ExecutionRecord, entry: Entry): StepKind | null {
  const { attempt, direction, epoch, step } = entry;
  const branch = execution.openBranches?.find((open) => open.step === step && open.attempt === attempt);
  if (branch !== undefined && direction === "execute" && epoch === execution.epoch) return branch.kind;
  const isOpen = execution.owner !== null && execution.currentStep === step && execution.direction === direction &&
    execution.epoch === epoch && execution.attempt === attempt;
  if (isOpen) return execution.openKind;
  const row = attempts.find((one) =>
    one.stepName === step && one.direction === direction && one.epoch === epoch && one.attempt === attempt
  );
  return row?.kind ?? null;
}

/** Below this a difference is a matter of rounding. */
const TOLERANCE_MS = 2;

function findEarly(record: ExecutionRecord, { plan }: Definition, step: string): string | null {
  if (plan.end !== null) return null; // which steps come before, only its function knows
  const finished = finishedSteps(record);
  const missing = plan.steps.slice(0, stepOf(plan, step)?.position).find(({ name }) => !finished.includes(name));
  return missing === undefined ? null : `${missing.name} has not succeeded`;
}

function findUndoEarly(record: ExecutionRecord, { plan }: Definition, step: string): string | null {
  if (record.execution.direction !== "compensate") return "it is not being compensated";
  const left = undoables(record);
  const isHook = step === COMPENSATED_HOOK;
  const hasRun = record.attempts.some((row) => row.direction === "execute" && row.stepName === step);
  if (!isHook && !hasRun) return "it never ran";
  const known = left.find((undoable) => undoable.step === step)?.knowledge;
  if (known === "unknown" && stepOf(plan, step)?.undoOnFailure === false) return "whether it took effect is not known";
  // What has been undone meanwhile is behind whoever comes late.
  const isBehind = !isHook && known === undefined;
  const [first] = left;
  return isBehind || first === undefined || first.step === step ? null : `${first.step} is to be undone before`;
}
