/** What may be done with an execution now, by the same decisions that the engine takes. */

import { compensate, type Operated, retry, skipStep, terminate } from "../../src/domain/operate.ts";
import type { Making } from "../../src/domain/making.ts";
import { type ExecutionRecord, isFinished } from "../../src/domain/record.ts";
import { undoables } from "../../src/domain/undo.ts";
import type { ConsoleAction } from "../options.ts";
import { plural, words } from "../view/format.ts";
import type { ActionModel } from "../view/model.ts";

/** What the decisions need beside the record. */
export interface ActionSources {
  readonly now: number;
  readonly allowed: readonly ConsoleAction[];
  /** Whether it stands still although nothing is planned, or waits for its next try. */
  readonly isStuck: boolean;
  /** Whether this server knows its definition and version. */
  readonly isKnown: boolean;
}

/** The actions that the viewer may take, and why those cannot be taken that cannot. */
export function actionsOf(record: ExecutionRecord, sources: ActionSources): readonly ActionModel[] {
  const { now, allowed, isKnown, isStuck } = sources;
  const { execution } = record;
  const making: Making = { now, chance: { jitter: 0, bits: "0".repeat(16), token: "console/0" }, rows: 0, leaseMs: 0 };
  const nobody = { actor: null, reason: null };
  const back = execution.direction === "compensate";
  const step = execution.currentStep === "" ? "the next step" : execution.currentStep;
  const undone = undoables(record);
  const finished = isFinished(execution.status);
  const isMoving = execution.status === "running" || execution.status === "compensating";
  const all: readonly ActionModel[] = [
    {
      action: "retry",
      label: back ? `Retry: undo ${step} again` : `Retry: ${step} again`,
      effect: `Goes on from ${step} with a full budget of tries and a new deadline.`,
      plan: [],
      refused: isMoving && !isStuck
        ? `it is ${execution.status} and needs none`
        : refusalOf(retry(record, nobody, making)),
    },
    {
      action: "compensate",
      label: undone.length === 0 ? "Compensate: nothing to undo" : `Compensate: undo ${plural(undone.length, "step")}`,
      effect: undone.length === 0
        ? "Ends it as failed: no step that can be undone has taken effect."
        : "Undoes these steps, in this order. A step that runs now ends first, and is undone as well if it took effect.",
      plan: undone.map(({ step, knowledge }) => ({ step, isCertain: knowledge === "result" })),
      refused: back && !isMoving && !finished
        ? "it is on its way back already: retry goes on with it"
        : refusalOf(compensate(record, nobody, making)),
    },
    {
      action: "skip",
      label: back ? `Skip: take ${step} as undone` : `Skip: take ${step} as done`,
      effect: back
        ? `Goes on to the next undo as if ${step} had been undone. For what you have undone by hand.`
        : `Goes on as if ${step} had ended well. For what you have settled by hand; what it writes to the context can be given.`,
      plan: [],
      refused: refusalOf(skipStep(record, { ...nobody, result: null }, making)),
    },
    {
      action: "terminate",
      label: "Terminate: end now, undo nothing",
      effect:
        "Ends it as failed at once. Nothing is undone; what a running step still does has no effect on the record.",
      plan: [],
      refused: refusalOf(terminate(record, nobody, making)),
    },
    {
      action: "signal",
      label: execution.waitingFor === null
        ? "Send a signal"
        : `Send the signal ${execution.waitingFor.replaceAll("\n", " or ")}`,
      effect: "It is kept until a step waits for it.",
      plan: [],
      refused: finished ? `it is ${words(execution.status)}` : null,
    },
    {
      action: "rerun",
      label: "Run again: a new execution",
      effect: "Starts a new execution with the same definition, version, input and resource. This one stays as it is.",
      plan: [],
      refused: !finished
        ? `it is ${execution.status}, not finished`
        : isKnown
        ? null
        : `this server does not know ${execution.sagaName} v${execution.sagaVersion}`,
    },
  ];
  return all.filter(({ action }) => allowed.includes(action));
}

function refusalOf(operated: Operated): string | null {
  if (operated.kind === "refused") return operated.message;
  return operated.kind === "nothing" ? "it is being compensated already" : null;
}
