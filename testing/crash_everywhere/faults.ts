/** Which faults there are to try, from the points that a run has passed. */

/**
 * `crash`: the process dies at the point. `refused`: the call fails before it took effect. `lost_answer`: it fails after
 * it took effect.
 */
export type FaultKind = "crash" | "refused" | "lost_answer";

/** A fault that is put into a run. */
export interface PlannedFault {
  readonly kind: FaultKind;
  readonly point: string;
  /** Which process: 0 is the one that begins, each crash brings the next. */
  readonly process: number;
}

/** All kinds. */
export const FAULT_KINDS: readonly FaultKind[] = ["crash", "refused", "lost_answer"];

/** These answer whatever happens; a failure of theirs would be no fault that can occur. */
const NEVER_FAIL: ReadonlySet<string> = new Set(["exchange.consume", "exchange.depth"]);

/** What changes nothing, or only times: passing such a point once more in the same state tells nothing new. */
const LOOKS: ReadonlySet<string> = new Set([
  "exchange.consume",
  "exchange.depth",
  "store.load",
  "store.nextWake",
  "store.now",
  "store.operations",
  "store.renew",
  "store.status",
  "store.workers.announce",
  "store.workers.list",
  "store.workers.unserved",
]);

/** The call that a point is of: `store.commit` for `store.commit#3:after`. */
export function callOf(point: string): string {
  return point.slice(0, point.lastIndexOf("#"));
}

/** Whether a point lies before its call. */
export function isBefore(point: string): boolean {
  return point.endsWith(":before");
}

/**
 * The points that differ: an idle worker looks again and again at what stays the same, and of such looks the first
 * stands for all until something has been written or run.
 */
export function distinctPoints(passed: readonly string[]): readonly string[] {
  const looked = new Set<string>();
  return passed.filter((point) => {
    const call = callOf(point);
    if (!LOOKS.has(call)) {
      looked.clear();
      return true;
    }
    const look = `${call}:${isBefore(point)}`;
    if (looked.has(look)) return false;
    looked.add(look);
    return true;
  });
}

/** Every fault of these kinds at the points. */
export function faultsAt(points: readonly string[], process: number, kinds: readonly FaultKind[]): PlannedFault[] {
  return points.flatMap((point) =>
    kinds.filter((kind) => isPossible(kind, point)).map((kind) => ({ kind, point, process }))
  );
}

/**
 * The faults without crashes that leave behind what another one leaves: a process that dies before it calls leaves what
 * one leaves that dies after the call before, if only the engine ran in between. What it had in mind dies with it.
 */
export function withoutSameCrashes(faults: readonly PlannedFault[], points: readonly string[]): PlannedFault[] {
  const kept = new Set<string>();
  let mayHaveChanged = true;
  for (const point of points) {
    const call = callOf(point);
    const isLook = LOOKS.has(call);
    if (mayHaveChanged || (!isLook && !isBefore(point))) kept.add(point);
    mayHaveChanged = !isLook && (isBefore(point) || isWithinCode(call));
  }
  return faults.filter(({ kind, point }) => kind !== "crash" || kept.has(point));
}

/** Whether user code goes on after the call. */
function isWithinCode(call: string): boolean {
  return call.startsWith("resources.") || call.startsWith("store.transaction.");
}

function isPossible(kind: FaultKind, point: string): boolean {
  if (kind === "crash") return true;
  return !NEVER_FAIL.has(callOf(point)) && isBefore(point) === (kind === "refused");
}

/** Evenly spread over the list, always the same ones. */
export function sampled<T>(list: readonly T[], count: number): readonly T[] {
  if (count >= list.length) return list;
  return Array.from({ length: count }, (_, index) => list[Math.floor(index * list.length / count)]!);
}

/** A fault in words: `crash at store.commit#3:after`. */
export function describeFault({ kind, point, process }: PlannedFault): string {
  const what = kind === "crash" ? "crash" : kind === "refused" ? "refusal" : "lost answer";
  return `${what} at ${point}${process === 0 ? "" : ` of process ${process + 1}`}`;
}
