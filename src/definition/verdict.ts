/** Verdicts: what a step returns instead of a result, to be skipped, to end the saga, or to give it up. */

/**
 * On the symbol registry, so that a verdict is known as one even where two copies of the package are loaded; and a
 * symbol, so that no JSON value can pass for one.
 */
const VERDICT = Symbol.for("leveret.verdict");

declare const kind: unique symbol;

/** The step had nothing to do: the saga goes on with the next one, and this one is never undone. */
export interface Skip {
  readonly [kind]: "skip";
}

/** The saga is done: the steps that are left are not run. */
export interface Complete {
  readonly [kind]: "complete";
}

/** The step has failed for good: no further try, whatever its retry policy says. */
export interface Fail {
  readonly [kind]: "fail";
}

/** What a step can return instead of a result. */
export type Verdict = Skip | Complete | Fail;

/** What a verdict says. */
export interface VerdictContent {
  readonly kind: "skip" | "complete" | "fail";
  readonly reason: string;
}

/** What a verdict says that was given no reason. */
export const NO_REASON = "no reason given";

/** To be returned by a step that has nothing to do. */
export function skip(reason: string = NO_REASON): Skip {
  return new Returned("skip", reason) as unknown as Skip;
}

/** To be returned by a step after which nothing is left to do. */
export function complete(reason: string = NO_REASON): Complete {
  return new Returned("complete", reason) as unknown as Complete;
}

/** To be returned by a step or an undo that would fail again however often it were tried. */
export function fail(reason: string): Fail {
  return new Returned("fail", reason) as unknown as Fail;
}

/** What a verdict says, or null if `value` is none. */
export function verdictOf(value: unknown): VerdictContent | null {
  if (typeof value !== "object" || value === null) return null;
  return (value as { readonly [VERDICT]?: VerdictContent })[VERDICT] ?? null;
}

/** A class, so that a verdict inside of a result is refused: JSON would make a plain object of it. */
class Returned {
  readonly [VERDICT]: VerdictContent;

  constructor(kind: VerdictContent["kind"], reason: unknown) {
    // Thrown values and numbers are handed in as reasons by untyped code; a verdict must never fail to be one.
    this[VERDICT] = Object.freeze({ kind, reason: typeof reason === "string" ? reason : textOf(reason) });
    Object.freeze(this);
  }
}

function textOf(reason: unknown): string {
  try {
    return reason instanceof Error ? reason.message : String(reason);
  } catch {
    return NO_REASON;
  }
}
