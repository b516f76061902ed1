/** Random histories of random plans: no invariant breaks, no effect is left, and everything comes to rest. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Plan } from "./plan.ts";
import type { StepKind } from "./record.ts";
import { isActive, isFinished } from "./record.ts";
import { aPlan, type StepFields } from "./testing_walk.ts";
import {
  act,
  type Action,
  type Answer,
  aWorld,
  claim,
  crash,
  deploy,
  end,
  type Ending,
  findEffectViolation,
  land,
  load,
  pass,
  passUntilDue,
  renew,
  resolve,
  signal,
  turn,
  Violation,
  type World,
  WORLD_LEASE,
} from "./testing_world.ts";

const RUNS = 20_000;

Deno.test("next() and apply keep every invariant in random histories, and everything comes to rest", () => {
  const began = performance.now();
  const tally = new Map<string, number>();
  let commits = 0;
  fc.assert(
    fc.property(plans(), skews(), fc.array(fc.nat(), { maxLength: 60, size: "max" }), (plan, skews, moves) => {
      const lived = moves.reduce((world, move) => play(world, move), aWorld(plan, skews));
      const rested = driveToRest(lived);
      const reason = rested.record.execution.blockedReason ?? rested.record.execution.status;
      tally.set(reason, (tally.get(reason) ?? 0) + 1);
      const finished = driveToEnd(rested);
      commits += finished.record.execution.revision;
      assert.equal(findEffectViolation(zombiesLand(finished)), null);
    }),
    { numRuns: RUNS },
  );
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const ends = [...tally].sort(([one], [other]) => one.localeCompare(other)).map(([end, n]) => `${end} ${n}`).join(
    ", ",
  );
  console.log(`${RUNS} histories with ${commits} commits in ${seconds} s; came to rest as ${ends}`);
});

function plans(): fc.Arbitrary<Plan> {
  const step = fc.record({
    kind: fc.constantFrom<StepKind>("step", "step", "step", "transaction", "pivot", "sleep", "wait"),
    hasUndo: fc.boolean(),
    undoOnFailure: fc.boolean(),
    attempts: fc.integer({ min: 1, max: 3 }),
    undoAttempts: fc.integer({ min: 1, max: 3 }),
    pauseMs: fc.constantFrom(0, 5_000, 60_000, null),
  });
  const deadline = fc.constantFrom(null, null, 15_000, 120_000);
  return fc.tuple(fc.array(step, { minLength: 1, maxLength: 6 }), deadline).map(([steps, deadlineMs]) => {
    const pivot = steps.findIndex(({ kind }) => kind === "pivot");
    return aPlan(
      steps.map((fields, index): StepFields => {
        const kind = fields.kind === "pivot" && index !== pivot ? "step" : fields.kind;
        const pauses = kind === "sleep" || kind === "wait";
        const undoable = !pauses && (pivot === -1 || index < pivot);
        return {
          name: `${kind[0]}${index}`,
          kind,
          hasUndo: undoable && fields.hasUndo,
          undoOnFailure: undoable && fields.hasUndo && fields.undoOnFailure,
          retry: policy(pauses ? 1 : fields.attempts),
          undoRetry: policy(fields.undoAttempts),
          pauseMs: kind === "sleep" ? fields.pauseMs ?? 1_000 : pauses ? fields.pauseMs : null,
        };
      }),
      deadlineMs,
    );
  });
}

function policy(attempts: number): StepFields["retry"] & object {
  return { attempts, delayMs: 2_000, factor: 2, maxDelayMs: 8_000, jitter: true };
}

function skews(): fc.Arbitrary<number[]> {
  return fc.constantFrom([0, 0], [0, 0, 0], [0, 600_000, -600_000], [0, 7_000]);
}

/** What the low digits of a move choose, the more often the more often it is named. */
const MOVES = [
  ...many(8, "turn"),
  ...many(9, "end"),
  ...many(3, "land"),
  ...many(3, "until_due"),
  ...many(2, "pass"),
  ...many(2, "load"),
  ...many(2, "resolve"),
  ...many(2, "signal"),
  ...many(1, "crash"),
  ...many(1, "renew"),
  ...many(1, "claim"),
  ...many(3, "act"),
  ...many(1, "deploy"),
] as const;

const ENDINGS: readonly Ending[] = [
  ...many(10, "succeeded"),
  ...many(3, "error"),
  "skipped",
  "completed",
  "interrupted",
  "aborted",
  "final",
  "bug",
  "not_storable",
  "retry_after",
];
const ANSWERS: readonly Answer[] = [...many(8, "given"), "lost", "never_sent"];
const ACTIONS: readonly Action[] = [
  ...many(4, "retry"),
  ...many(3, "compensate"),
  ...many(3, "skip"),
  "terminate",
  "park",
  "unpark",
  "not_taken_up",
];
const PASSES = [500, 3_000, WORLD_LEASE, 3_600_000];

function many<T extends string>(times: number, value: T): T[] {
  return Array.from({ length: times }, () => value);
}

function play(world: World, move: number): World {
  let rest = move;
  const take = <T>(choices: readonly T[]): T => {
    const choice = choices[rest % choices.length] as T;
    rest = Math.floor(rest / choices.length);
    return choice;
  };
  const kind = take(MOVES);
  const worker = take(world.workers.map((_, index) => index));
  switch (kind) {
    case "turn":
      return turn(world, worker, { answer: take(ANSWERS), mayOpen: take(OFTEN), mayTakeOver: take(OFTEN) });
    case "end":
      return end(world, worker, take(ENDINGS), take(ANSWERS));
    case "land":
      return land(world, worker);
    case "until_due":
      return passUntilDue(world);
    case "pass":
      return pass(world, take(PASSES));
    case "load":
      return load(world, worker);
    case "resolve":
      return resolve(world, worker);
    case "signal":
      return signal(world, take(world.plan.steps).name);
    case "crash":
      return crash(world, worker);
    case "renew":
      return renew(world, worker);
    case "claim":
      return claim(world);
    case "act":
      return act(world, take(ACTIONS), take([null, worker]));
    case "deploy":
      return deploy(world, worker, take(VARIANTS)(world.plan));
    default:
      return kind satisfies never;
  }
}

const OFTEN = [true, true, true, true, false];

const VARIANTS: readonly ((plan: Plan) => Plan)[] = [
  (plan) => plan,
  (plan) => ({ ...plan, steps: withPositions(plan.steps.slice(0, -1)) }),
  (plan) => ({ ...plan, steps: withPositions([...plan.steps, ...aPlan(["added"]).steps]) }),
  (plan) => ({ ...plan, steps: withPositions([...aPlan(["added"]).steps, ...plan.steps]) }),
  (plan) => ({ ...plan, steps: plan.steps.map((step, at) => at === 1 ? { ...step, name: "renamed" } : step) }),
  (plan) => ({ ...plan, steps: plan.steps.map((step) => ({ ...step, retry: policy(1), undoRetry: policy(1) })) }),
];

function withPositions(steps: Plan["steps"]): Plan["steps"] {
  return steps.map((step, position) => ({ ...step, position }));
}

/** The last fault is past: one live worker with the plan of the start, whose code succeeds, and sweeps. */
function driveToRest(world: World): World {
  let calm = world;
  for (const index of world.workers.keys()) calm = crash(calm, index);
  calm = { ...calm, workers: calm.workers.map((worker) => ({ ...worker, plan: calm.plan, skewMs: 0 })) };
  if (calm.record.execution.blockedReason === "definition_missing") calm = act(calm, "unpark");
  // Each turn ends an attempt, a pause or a request, or finds out how far there is to go.
  const bound = 20 + 4 * calm.plan.steps.length;
  for (let turns = 0; turns < bound; turns++) {
    const { execution } = calm.record;
    if (!isActive(execution.status) && execution.request === null) return calm;
    if (execution.wakeAt === null) {
      calm = signal(calm, execution.currentStep);
      continue;
    }
    calm = { ...calm, now: Math.max(calm.now, execution.wakeAt) };
    calm = turn(claim(calm), 0, { answer: "given", mayOpen: true, mayTakeOver: true });
    while (calm.workers[0]?.run !== null) calm = end(land(calm, 0), 0, "succeeded", "given");
  }
  throw new Violation(`it does not come to rest: ${JSON.stringify(calm.record.execution)}`);
}

/** A person sees to what is blocked, until it has ended. */
function driveToEnd(world: World): World {
  let seen = world;
  for (let visit = 0; visit < 12; visit++) {
    const { status, blockedReason, direction } = seen.record.execution;
    if (isFinished(status)) return seen;
    if (blockedReason === "outcome_unknown") seen = act(seen, "skip");
    else if (visit < 4) seen = act(seen, "retry");
    else if (visit < 8) seen = act(seen, direction === "execute" ? "compensate" : "skip");
    else seen = act(seen, "terminate");
    seen = driveToRest(seen);
  }
  throw new Violation(`nobody can end it: ${JSON.stringify(seen.record.execution)}`);
}

/** Code that nobody waits for any more still reaches the shop. */
function zombiesLand(world: World): World {
  return world.workers.reduce((late, _, index) => land(late, index), world);
}
