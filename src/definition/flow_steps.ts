/** The calls of a workflow's function, checked and turned into what the plan and the engine know of them. */

import { COMPENSATED_HOOK, COMPLETED_HOOK, type PlanStep } from "../domain/plan.ts";
import { DEFAULT_RETRY_AFTER_PIVOT, DEFAULT_UNDO_RETRY, type RetryPolicy } from "../domain/retry.ts";
import { isThrown, SagaError, show } from "../errors.ts";
import { flagAt, inside, letGo, optionsAt, type Place, refusal, wholeNumberAt } from "./check.ts";
import type { StepCode } from "./definition.ts";
import { codedStep, sleepStep, type StepDraft, waitStep } from "./step_options.ts";
import { checkName, checkText, isLongerThan, MAX_NAME_BYTES, MAX_TEXT_BYTES } from "./text.ts";

/** A step as the function has called for it: its part of the plan, and the code that goes with it. */
export interface FlowStep {
  readonly step: PlanStep;
  /** By name: its own, and those of its branches. */
  readonly code: ReadonlyMap<string, StepCode>;
  /** How a parallel calls its branches, by the names of their rows. */
  readonly branches: ReadonlyMap<string, string>;
  /** Whether the function is told which signal it was, beside the payload. */
  readonly isAny: boolean;
}

/** Where a step stands in its workflow. */
export interface FlowPlace {
  /** Name of the workflow. */
  readonly workflow: string;
  readonly position: number;
  /** Whether the pivot comes before it. */
  readonly pastPivot: boolean;
}

/** Names of steps have no slash: it separates a parallel from its branch, and a call from its result. */
export function flowName(name: unknown, at: FlowPlace): string {
  return partName(name, placeOf(at, at.position));
}

function partName(name: unknown, place: Place): string {
  const checked = checkName(name, place);
  if (checked.includes("/")) throw refusal(place, checked, "as a name it must not contain a slash");
  if (checked.startsWith("~")) throw refusal(place, checked, "as a name it must not begin with ~");
  return checked;
}

/** A step with code of its own. */
export function flowStep(
  kind: "step" | "transaction" | "pivot",
  name: string,
  run: unknown,
  options: unknown,
  at: FlowPlace,
): FlowStep {
  const place = placeOf(at, name);
  return made(name, at, codedStep(kind, bodyOf(run, options, place), { place, pastPivot: at.pastPivot }));
}

/** A sleep. */
export function flowSleep(name: string, duration: unknown, at: FlowPlace): FlowStep {
  return made(name, at, sleepStep(duration, placeOf(at, name)));
}

/** A wait for one signal. */
export function flowWait(name: string, options: unknown, at: FlowPlace): FlowStep {
  const place = placeOf(at, name);
  const { signal, ...rest } = optionsAt(place, options, ["timeout", "schema", "signal"]);
  const draft = waitStep(rest, place);
  if (signal === undefined) return made(name, at, draft);
  const signals = [signalName(signal, inside(place, "signal"))];
  return made(name, at, { ...draft, step: { ...draft.step, signals } });
}

/** A wait for the first of several signals. */
export function flowWaitForAny(name: string, signals: unknown, options: unknown, at: FlowPlace): FlowStep {
  const place = placeOf(at, name);
  const where = inside(place, "signals");
  if (!Array.isArray(signals) || signals.length === 0) throw refusal(where, signals, "use a list of names");
  const names = signals.map((signal, index) => signalName(signal, inside(where, index)));
  if (isLongerThan(names.join("\n"), MAX_TEXT_BYTES)) {
    throw refusal(where, names, `all names together must have at most ${MAX_TEXT_BYTES} bytes of UTF-8`);
  }
  const draft = waitStep(options, place);
  return { ...made(name, at, { ...draft, step: { ...draft.step, signals: names } }), isAny: true };
}

function signalName(signal: unknown, place: Place): string {
  if (typeof signal !== "string") throw refusal(place, signal, "use the name of a signal");
  return checkText(signal, "the name of a signal");
}

/** A branch as it was declared, before it has a name. */
export class DeclaredBranch {
  readonly kind: "step" | "transaction";
  readonly run: unknown;
  readonly options: unknown;

  constructor(kind: "step" | "transaction", run: unknown, options: unknown) {
    this.kind = kind;
    this.run = run;
    this.options = options;
  }
}

const DEFAULT_CONCURRENCY = 10;
/** More than these at once is no limit. */
const MAX_CONCURRENCY = 1_000;

/** A parallel with the branches that `declare` makes. */
export function flowParallel(name: string, declare: unknown, options: unknown, at: FlowPlace): FlowStep {
  const place = placeOf(at, name);
  if (typeof declare !== "function") throw refusal(place, declare, "use a function that returns the branches");
  const given = optionsAt(inside(place, "options"), options, ["concurrency", "failFast"]);
  const concurrency = given.concurrency === undefined
    ? DEFAULT_CONCURRENCY
    : wholeNumberAt(inside(place, "concurrency"), given.concurrency, { min: 1, max: MAX_CONCURRENCY });
  const failFast = given.failFast === undefined ? true : flagAt(inside(place, "failFast"), given.failFast);
  const declared = declare(DECLARING) as unknown;
  if (typeof declared !== "object" || declared === null || Array.isArray(declared) || declared instanceof Promise) {
    throw refusal(place, declared, "its function has to return an object of branches: { email: p.step(…) }");
  }
  const steps: PlanStep[] = [];
  const code = new Map<string, StepCode>();
  const branches = new Map<string, string>();
  for (const [key, branch] of Object.entries(declared)) {
    const where = inside(place, key);
    const short = partName(key, where);
    if (!(branch instanceof DeclaredBranch)) {
      for (const other of Object.values(declared)) letGo(other);
      throw refusal(where, branch, "use what p.step() or p.transaction() returns");
    }
    const full = joined(name, short, where);
    const draft = codedStep(branch.kind, bodyOf(branch.run, branch.options, where), {
      place: where,
      pastPivot: at.pastPivot,
    });
    const kind = branch.kind === "step" ? "branch" : "branch_transaction";
    steps.push(Object.freeze({ ...draft.step, kind, name: full, position: at.position }));
    code.set(full, draft.code);
    branches.set(full, short);
  }
  if (steps.length === 0) throw refusal(place, declared, "declare at least one branch");
  const step: PlanStep = {
    ...pauseless("parallel", name, at),
    parallel: { branches: steps, concurrency, failFast },
  };
  return { step, code, branches, isAny: false };
}

/** The name of the row of a branch, or of a call's result. */
function joined(name: string, part: string, place: Place): string {
  const full = `${name}/${part}`;
  if (!isLongerThan(full, MAX_NAME_BYTES)) return full;
  throw refusal(place, full, `both names together must have at most ${MAX_NAME_BYTES} bytes of UTF-8`);
}

const DECLARING = Object.freeze({
  step: (run: unknown, options?: unknown) => new DeclaredBranch("step", run, options),
  transaction: (run: unknown, options?: unknown) => new DeclaredBranch("transaction", run, options),
});

/** What starts another execution; `code` is the engine's. */
export function flowCall(name: string, code: StepCode, at: FlowPlace): FlowStep {
  joined(name, "result", placeOf(at, name));
  const step: PlanStep = {
    ...pauseless("call", name, at),
    // Whether the other execution was started is found out by its id.
    hasUndo: !at.pastPivot,
    undoOnFailure: !at.pastPivot,
    retry: AFTER_PIVOT,
  };
  return { step, code: new Map([[name, code]]), branches: NO_BRANCHES, isAny: false };
}

/** What waits for the end of another execution; `code` is the engine's. */
export function flowCallResult(name: string, code: StepCode, at: FlowPlace): FlowStep {
  const step: PlanStep = { ...pauseless("call_result", name, at), retry: AFTER_PIVOT };
  return { step, code: new Map([[name, code]]), branches: NO_BRANCHES, isAny: false };
}

/** A hook on the completion of the execution, at its end. */
export function completedHook(hook: CodeFunction, position: number): FlowStep {
  return hookStep(COMPLETED_HOOK, { run: hook, undo: null, schema: null }, position);
}

/** A hook on the end of the compensation. */
export function compensatedHook(hook: CodeFunction): FlowStep {
  const made = hookStep(COMPENSATED_HOOK, { run: null, undo: hook, schema: null }, 0);
  return { ...made, step: { ...made.step, hasUndo: true, undoRetry: AFTER_PIVOT } };
}

function hookStep(name: string, code: StepCode, position: number): FlowStep {
  const at: FlowPlace = { workflow: "", position, pastPivot: true };
  const step: PlanStep = { ...pauseless("hook", name, at), retry: AFTER_PIVOT };
  return { step, code: new Map([[name, code]]), branches: NO_BRANCHES, isAny: false };
}

type CodeFunction = NonNullable<StepCode["run"]>;

/** The function that was given for a hook. */
export function hookAt(event: unknown, hook: unknown, workflow: string): CodeFunction {
  if (event !== "completed" && event !== "compensated") {
    throw refusal(
      placeOf({ workflow, position: 0, pastPivot: false }, "on"),
      event,
      'use "completed" or "compensated"',
    );
  }
  if (typeof hook === "function") return hook as CodeFunction;
  throw refusal(placeOf({ workflow, position: 0, pastPivot: false }, `on ${event}`), hook, "use a function");
}

const AFTER_PIVOT: RetryPolicy = Object.freeze({ ...DEFAULT_RETRY_AFTER_PIVOT });
const UNDO: RetryPolicy = Object.freeze({ ...DEFAULT_UNDO_RETRY });
const NO_BRANCHES: ReadonlyMap<string, string> = new Map();

function pauseless(kind: PlanStep["kind"], name: string, at: FlowPlace): PlanStep {
  return {
    name,
    kind,
    position: at.position,
    hasUndo: false,
    undoOnFailure: false,
    retry: AFTER_PIVOT,
    undoRetry: UNDO,
    leaseMs: null,
    timeoutMs: null,
    pauseMs: null,
    signals: null,
    parallel: null,
  };
}

function made(name: string, at: FlowPlace, { code, step }: StepDraft): FlowStep {
  return {
    step: { ...step, name, position: at.position },
    code: new Map([[name, code]]),
    branches: NO_BRANCHES,
    isAny: false,
  };
}

/** The options of a step with its function among them. */
function bodyOf(run: unknown, options: unknown, place: Place): unknown {
  if (typeof run !== "function") throw refusal(inside(place, "run"), run, "use a function");
  if (options === undefined) return run;
  if (typeof options === "object" && options !== null && !Array.isArray(options) && !("run" in options)) {
    return { run, ...options };
  }
  throw refusal(place, options, "use an object of options: undo, undoOnFailure, retry, undoRetry or timeout");
}

function placeOf(at: FlowPlace, part: string | number): Place {
  const place: Place = { code: "invalid_definition", action: `run workflow ${show(at.workflow)}`, path: "flow" };
  return inside(place, part);
}

/** A call that a workflow's function must not make: another try would make it again. */
class Misuse extends SagaError {
  override readonly name = "WorkflowMisuse";
}

/** The error for a call that the function must not make, with what to write instead. */
export function misuse(workflow: string, fact: string): SagaError {
  return new Misuse("invalid_definition", `Cannot run workflow ${show(workflow)}: ${fact}`);
}

/** Whether an error is one of these. */
export function isMisuse(error: unknown): boolean {
  return isThrown(error, Misuse);
}
