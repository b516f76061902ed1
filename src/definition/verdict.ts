/** Verdicts: what a step returns instead of a result, to be skipped, to end the saga, or to give it up. */

/**
 * The key under which a verdict says what it is. On the symbol registry, so that a verdict is known as one even where
 * two copies of the package are loaded; and a symbol, so that no JSON value can pass for one.
 */
export const verdict: unique symbol = Symbol.for("leveret.verdict");

/** What a verdict says. */
export interface VerdictContent<Kind extends string = "skip" | "complete" | "fail"> {
  /** Which verdict it is. */
  readonly kind: Kind;
  /** Why, in the step's own words. */
  readonly reason: string;
}

/** The step had nothing to do: the saga goes on with the next one, and this one is never undone. */
export interface Skip {
  /** What it says. */
  readonly [verdict]: VerdictContent<"skip">;
}

/** The saga is done: the steps that are left are not run. */
export interface Complete {
  /** What it says. */
  readonly [verdict]: VerdictContent<"complete">;
}

/** The step has failed for good: no further try, whatever its retry policy says. */
export interface Fail {
  /** What it says. */
  readonly [verdict]: VerdictContent<"fail">;
}

/** What a step can return instead of a result. */
export type Verdict = Skip | Complete | Fail;

/** What a verdict says that was given no reason. */
export const NO_REASON = "no reason given";

/** To be returned by a step that has nothing to do. */
export function skip(reason: string = NO_REASON): Skip {
  return new Returned("skip", reason);
}

/** To be returned by a step after which nothing is left to do. */
export function complete(reason: string = NO_REASON): Complete {
  return new Returned("complete", reason);
}

/** To be returned by a step or an undo that would fail again however often it were tried. */
export function fail(reason: string): Fail {
  return new Returned("fail", reason);
}

/** What a verdict says, or null if `value` is none. */
export function verdictOf(value: unknown): VerdictContent | null {
  if (typeof value !== "object" || value === null) return null;
  return (value as Partial<Verdict>)[verdict] ?? null;
}

/** A class, so that a verdict inside of a result is refused: JSON would make a plain object of it. */
class Returned<Kind extends string> {
  readonly [verdict]: VerdictContent<Kind>;

  constructor(kind: Kind, reason: unknown) {
    this[verdict] = Object.freeze({ kind, reason: textOf(reason) });
    Object.freeze(this);
  }
}

/** Untyped code hands in errors and whatever else was thrown; a verdict must not fail over it. */
function textOf(reason: unknown): string {
  if (typeof reason === "string") return reason;
  try {
    return reason instanceof Error ? reason.message : String(reason);
  } catch {
    return NO_REASON;
  }
}
