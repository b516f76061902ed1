/** The code of definitions, watched: who enters it, and whether it was its turn. */

import { finishedSteps } from "../../src/domain/attempts.ts";
import { stepOf } from "../../src/domain/plan.ts";
import { undoables } from "../../src/domain/undo.ts";
import type { Definition, StepCode } from "../../src/definition/definition.ts";
import type { BaseScope } from "../../src/definition/scope.ts";
import type { Direction, ExecutionRecord } from "../../src/domain/record.ts";
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
    const code = new Map<string, StepCode>();
    for (const [step, { run, undo, schema }] of definition.code) {
      code.set(step, {
        run: run === null ? null : this.#watch(definition, process, step, "execute", run as (scope: Scope) => unknown),
        undo: undo === null
          ? null
          : this.#watch(definition, process, step, "compensate", undo as (scope: Scope) => unknown),
        schema,
      });
    }
    return { ...definition, code };
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
      const wrong = this.#findWrong(definition, { id, step, direction, number: `${epoch}.${scope.attempt}` });
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
  #findLate({ execution }: ExecutionRecord, number: string, leaseMs: number): string | null {
    const { areClocksRight, clock } = this.#world;
    // A process whose clock is wrong cannot know better.
    if (!areClocksRight) return null;
    const isOpen = execution.owner !== null && number === `${execution.epoch}.${execution.attempt}`;
    if (!isOpen) return null;
    const leftMs = (execution.dueAt ?? 0) - clock.now();
    return leftMs >= leaseMs / 2 - TOLERANCE_MS ? null : `only ${leftMs} ms of its lease are left`;
  }

  #findWrong(
    definition: Definition,
    entry: { readonly id: string; readonly step: string; readonly direction: Direction; readonly number: string },
  ): string | null {
    const { id, step, direction, number } = entry;
    const planned = stepOf(definition.plan, step);
    const name = `${id} ${step} ${direction} ${number}`;
    // A transaction whose connection was lost is run again under the same token.
    if (this.#entered.has(name) && planned?.kind !== "transaction") return `attempt ${number} was begun before`;
    this.#entered.add(name);
    const record = this.#world.truth.get(id);
    if (record === undefined) return "there is no such execution";
    // A transaction that waits for a connection loses nothing: it is rolled back if it comes too late.
    const late = planned?.kind === "transaction" ? null : this.#findLate(record, number, planned?.leaseMs ?? 0);
    if (late !== null) return late;
    return direction === "execute" ? findEarly(record, definition, step) : findUndoEarly(record, definition, step);
  }
}

/** Below this a difference is a matter of rounding. */
const TOLERANCE_MS = 2;

function findEarly(record: ExecutionRecord, { plan }: Definition, step: string): string | null {
  const finished = finishedSteps(record);
  const missing = plan.steps.slice(0, stepOf(plan, step)?.position).find(({ name }) => !finished.includes(name));
  return missing === undefined ? null : `${missing.name} has not succeeded`;
}

function findUndoEarly(record: ExecutionRecord, { plan }: Definition, step: string): string | null {
  if (record.execution.direction !== "compensate") return "it is not being compensated";
  const position = record.attempts.find((row) => row.direction === "execute" && row.stepName === step)?.position;
  if (position === undefined) return "it never ran";
  const known = undoables(record).find((undoable) => undoable.step === step)?.knowledge;
  if (known === "unknown" && stepOf(plan, step)?.undoOnFailure === false) return "whether it took effect is not known";
  const later = undoables(record).find((undoable) => undoable.position > position);
  return later === undefined ? null : `${later.step} is to be undone before`;
}
