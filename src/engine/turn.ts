/**
 * The turn: read, decide, run the user's code, write. One commit ends a step and opens the next, so a run of steps costs
 * one guarded write each.
 */

import type { ExecutionRecord } from "../domain/record.ts";
import type { HandlerAnswer } from "../exchange.ts";
import { OpenAttempt } from "./attempt.ts";
import { Branches } from "./branches.ts";
import { hasEndedMeanwhile } from "./calls.ts";
import type { Pass } from "./pass.ts";
import { perform } from "./perform.ts";
import { hasTimeLeft } from "./time_left.ts";
import { isTransactional, transact } from "./transact.ts";
import type { TurnHost } from "./turn_host.ts";
import { DROPPED, Writing, type Written } from "./writing.ts";

/** What a hint adds to a turn. */
export interface Hinted {
  readonly epoch: number;
  /** The record, which is being read. It may have failed long before there was a slot: then it is read again. */
  readonly loading: Promise<ExecutionRecord | null>;
  /** Called before the commit with which the run ends, where that is known. */
  readonly onEnding: (() => void) | undefined;
}

/** Looks at an execution, and takes it as far as it goes. */
export async function takeTurn(host: TurnHost, id: string, hinted?: Hinted): Promise<HandlerAnswer> {
  const record = hinted === undefined ? await host.parts.load(id) : await recordOf(host, id, hinted);
  if (record === null) return "done";
  return await new Turn(host, record, hinted?.onEnding).go(null, hinted?.epoch);
}

/**
 * While the store is away a worker keeps the hints that it has, one for each slot: done with them at once, it would be
 * given those of all others, and leave their executions to sweeps.
 */
function recordOf(host: TurnHost, id: string, { loading }: Hinted): Promise<ExecutionRecord | null> {
  return loading.catch(() => host.outage.patiently(() => host.parts.load(id), host.stopping));
}

/** Goes on with an execution whose attempt was opened with `token` when it was inserted. */
export async function takeOpened(host: TurnHost, record: ExecutionRecord, token: string): Promise<HandlerAnswer> {
  const attempt = new OpenAttempt(token);
  host.hold(attempt, record);
  return await new Turn(host, record).go(attempt);
}

/** Goes on with an attempt that may have been opened with `token`, once the store can tell. */
export async function takeLost(host: TurnHost, id: string, token: string): Promise<HandlerAnswer> {
  const record = await host.outage.patiently(() => host.parts.load(id), host.gone);
  return record?.execution.owner === token ? await takeOpened(host, record, token) : "done";
}

class Turn {
  readonly #writing: Writing;

  constructor(host: TurnHost, record: ExecutionRecord, onEnding = () => {}) {
    this.#writing = new Writing(host, record, onEnding);
  }

  /**
   * Nothing is awaited after the last commit but what a workflow needs: whoever waits for the execution hears of its end
   * with that commit, and may start the next one in the slot that is given back at the end.
   */
  async go(opened: OpenAttempt | null, hintEpoch?: number): Promise<HandlerAnswer> {
    const writing = this.#writing;
    let attempt = opened;
    let epoch = hintEpoch;
    try {
      for (;;) {
        const written = attempt === null ? await writing.write(null, null, epoch) : await this.#held(attempt);
        if (written.kind === "dropped") return written.answer;
        writing.record = written.record;
        attempt = written.opened;
        epoch = undefined;
        if (attempt === null && (writing.pass === null || !(await this.#goesOn(writing.pass)))) return "done";
      }
    } finally {
      writing.pass?.forget();
    }
  }

  /** A function that is busy between two steps is waited for, with nothing open; and what it called may have ended. */
  async #goesOn(pass: Pass): Promise<boolean> {
    return (pass.isOnItsWay && await pass.arrives()) ||
      await hasEndedMeanwhile(this.#writing.parts, this.#writing.record.execution);
  }

  /** Lets the lease go whatever happens: one that is renewed for ever would never be taken over. */
  async #held(attempt: OpenAttempt): Promise<Written> {
    try {
      return await this.#attempt(attempt);
    } finally {
      this.#writing.host.release(attempt);
    }
  }

  /** Runs the code of the open attempt and writes how it ended. */
  async #attempt(attempt: OpenAttempt): Promise<Written> {
    const writing = this.#writing;
    const { parts, pass, record } = writing;
    const { execution } = record;
    if (!(await hasTimeLeft(writing, attempt))) return DROPPED;
    // After a turn of another worker, or a start, this is the first that is seen of the function.
    if (pass !== null && !(await pass.begin(record))) return DROPPED;
    const step = writing.step(execution.currentStep);
    if (execution.openBranches !== null) return await new Branches(writing).run(attempt, step);
    const performance = writing.performance(attempt, step, execution.attempt);
    if (isTransactional(step, parts)) return await transact(writing, performance);
    return await writing.writePerformed(attempt, await perform(performance));
  }
}
