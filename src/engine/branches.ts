/** Runs the branches of a parallel under one lease, and writes each as it ends. */

import { parallelState } from "../domain/parallel.ts";
import type { PlanStep } from "../domain/plan.ts";
import type { ExecutionRecord, OpenBranch } from "../domain/record.ts";
import { OpenAttempt } from "./attempt.ts";
import { perform } from "./perform.ts";
import { hasTimeLeft } from "./time_left.ts";
import { transact } from "./transact.ts";
import { DROPPED, type Ended, type Writing, type Written } from "./writing.ts";

function newer(one: ExecutionRecord, other: ExecutionRecord): ExecutionRecord {
  return one.execution.revision > other.execution.revision ? one : other;
}

function tryOf({ step, attempt, startedAt }: OpenBranch): string {
  return `${startedAt} ${attempt} ${step}`;
}

/** The branches that a turn runs. */
export class Branches {
  readonly #writing: Writing;
  /** The attempt that a transactional branch has opened as the last of its parallel. */
  #opened: OpenAttempt | null = null;

  constructor(writing: Writing) {
    this.#writing = writing;
  }

  /**
   * Runs the branches of the open parallel, and writes each as it ends, until none is left to run or to wait for. What
   * has not settled though it was told to keeps the lease, which is left to end.
   */
  async run(attempt: OpenAttempt, step: PlanStep): Promise<Written> {
    const writing = this.#writing;
    const { clock } = writing.parts;
    const running = new Map<string, { readonly own: OpenAttempt; readonly branch: OpenBranch }>();
    const ended: Ended[] = [];
    this.#opened = null;
    let wake = Promise.withResolvers<void>();
    // Whatever becomes of them: who begins one again would run the same try twice, also if what is known of the record
    // should be older than what has been written.
    const begun = new Set<string>();
    let unsettled = 0;
    const begin = (branch: OpenBranch) => {
      const own = new OpenAttempt(attempt.token);
      const stop = attempt.onAbort((why) => own.abort(why, `"${branch.step}" is to stop: ${why}`));
      running.set(branch.step, { own, branch });
      void this.#runBranch(own, branch).then((end) => {
        stop();
        running.delete(branch.step);
        if (end === "unsettled") unsettled++;
        else if (end !== "written") ended.push(end);
        wake.resolve();
      });
    };
    for (;;) {
      const { execution } = writing.record;
      if (execution.owner !== attempt.token) {
        // The last branch was a transaction, and its commit has closed the parallel.
        return { kind: "written", record: writing.record, opened: this.#opened };
      }
      const opened = (execution.openBranches ?? []).filter((branch) => !begun.has(tryOf(branch)));
      // The commit that opened them may have taken its time.
      const isLate = opened.length > 0 && !(await hasTimeLeft(writing, attempt));
      for (const branch of opened) {
        begun.add(tryOf(branch));
        if (isLate) unsettled++;
        else begin(branch);
      }
      const state = parallelState(writing.record, step, clock.now());
      if (state.failed !== null && step.parallel?.failFast === true) {
        const message = `Branch "${state.failed.stepName}" has failed for good`;
        for (const { own } of running.values()) own.abort("sibling", message);
      }
      if (ended.length === 0) {
        if (running.size === 0) return DROPPED;
        const retryIn = state.retryAt === null ? null : state.retryAt - clock.now();
        const cancel = retryIn === null ? null : clock.setTimer(retryIn, () => wake.resolve());
        await wake.promise;
        cancel?.();
        wake = Promise.withResolvers<void>();
        const isReady = parallelState(writing.record, step, clock.now()).ready.length > 0;
        if (ended.length === 0 && (running.size === 0 || unsettled > 0 || !isReady)) continue;
      }
      const ends = ended.splice(0);
      const written = await writing.write(attempt, ends);
      if (written.kind === "dropped") {
        attempt.abort("lease_lost", "Its parallel is no longer this worker's");
        return written;
      }
      if (written.record.execution.owner !== attempt.token) return written;
      writing.record = newer(writing.record, written.record);
    }
  }

  /** Runs the code of a branch; a transactional one writes itself. Never rejects. */
  async #runBranch(own: OpenAttempt, branch: OpenBranch): Promise<Ended | "unsettled" | "written"> {
    const writing = this.#writing;
    const { step: name } = branch;
    try {
      const step = writing.step(name);
      const performance = writing.performance(own, step, branch.attempt);
      if (step.kind !== "branch_transaction") {
        const performed = await perform(performance);
        return performed.kind === "unsettled" ? "unsettled" : { name, outcome: performed };
      }
      const written = await transact(writing, performance, (outcome) => [{ name, outcome }]);
      if (written.kind === "dropped") return "unsettled";
      writing.record = newer(writing.record, written.record);
      this.#opened = written.opened ?? this.#opened;
      return "written";
    } catch (error) {
      writing.parts.logger.error(
        `Branch "${name}" of execution ${writing.record.execution.id} was left: ${error}`,
      );
      return "unsettled";
    }
  }
}
