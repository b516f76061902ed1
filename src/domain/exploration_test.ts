/**
 * A small model, explored in all directions: two workers, one of which may hold a stale copy, commits whose answer is
 * lost, crashes, ends of leases, an operator, a signal. With all rules on nothing breaks; with one of them off, the
 * exploration finds a history that breaks something.
 */

import assert from "node:assert/strict";
import type { Plan } from "./plan.ts";
import type { ExecutionRecord } from "./record.ts";
import { aPlan } from "./testing_walk.ts";
import {
  act,
  type Action,
  ALL_RULES,
  aWorld,
  crash,
  end,
  type Ending,
  findEffectViolation,
  land,
  load,
  passUntilDue,
  renew,
  resolve,
  type Rules,
  signal,
  turn,
  Violation,
  type World,
} from "./testing_world.ts";

const ONCE = { attempts: 1, delayMs: 0, factor: 1, maxDelayMs: 0, jitter: false };
const TWICE = { ...ONCE, attempts: 2 };
const COPING = { hasUndo: true, undoOnFailure: true, retry: TWICE, undoRetry: TWICE };

/** Two steps, the first with an undo that copes with not knowing. */
const TWO_STEPS = aPlan([{ name: "a", ...COPING }, { name: "b", ...COPING, retry: ONCE }]);
const STEP_AND_WAIT = aPlan([{ name: "a", ...COPING, retry: ONCE }, { name: "w", kind: "wait", retry: ONCE }]);
const STEP_AND_PIVOT = aPlan([{ name: "a", ...COPING, retry: ONCE }, { name: "p", kind: "pivot", retry: TWICE }]);

const MODELS: readonly (readonly [name: string, plan: Plan, limits: Limits])[] = [
  ["two steps", TWO_STEPS, { states: 60_000, operations: 1, faults: 1, signals: 0 }],
  ["a step and a wait", STEP_AND_WAIT, { states: 40_000, operations: 1, faults: 1, signals: 1 }],
  ["a step and a pivot", STEP_AND_PIVOT, { states: 40_000, operations: 1, faults: 1, signals: 0 }],
];

for (const [name, plan, limits] of MODELS) {
  Deno.test(`the rules keep every invariant in a small model of ${name}`, () => {
    const began = performance.now();
    const explored = explore(plan, limits, ALL_RULES);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    const extent = explored.isComplete ? "to the end" : `to a depth of ${explored.depth}`;
    console.log(`${explored.states} states, ${extent}, in ${seconds} s`);
    assert.deepEqual(explored.violation, null);
  });
}

for (const rule of Object.keys(ALL_RULES) as (keyof Rules)[]) {
  Deno.test(`the small models find out that the rule "${rule}" is switched off`, () => {
    const found = MODELS.map(([, plan, limits]) => explore(plan, limits, { ...ALL_RULES, [rule]: false }).violation)
      .find((violation) => violation !== null);
    assert.ok(found, "nothing was found");
    console.log(`${found.message}: ${found.history.join(", ")}`);
  });
}

interface Limits {
  readonly states: number;
  readonly operations: number;
  readonly faults: number;
  readonly signals: number;
}

/** A world, how it came about, and what may still happen to it. */
interface Node {
  readonly world: World;
  readonly history: readonly string[];
  readonly left: Limits;
}

interface Explored {
  readonly states: number;
  readonly depth: number;
  readonly isComplete: boolean;
  readonly violation: { readonly message: string; readonly history: readonly string[] } | null;
}

/** Breadth first, so that what it finds is found by the shortest history. */
function explore(plan: Plan, limits: Limits, rules: Rules): Explored {
  const seen = new Set<string>();
  let layer: Node[] = [{ world: aWorld(plan, [0, 0], rules), history: [], left: limits }];
  let depth = 0;
  for (; layer.length > 0; depth++) {
    const following: Node[] = [];
    for (const node of layer) {
      for (const [name, move, cost] of movesFrom(node)) {
        const history = [...node.history, name];
        const moved = attempt(() => checked(move(node.world)));
        if (moved instanceof Violation) {
          return { states: seen.size, depth, isComplete: false, violation: { message: moved.message, history } };
        }
        const left = cost === null ? node.left : { ...node.left, [cost]: node.left[cost] - 1 };
        const key = keyOfWorld(moved, left);
        if (seen.has(key)) continue;
        if (seen.size >= limits.states) return { states: seen.size, depth, isComplete: false, violation: null };
        seen.add(key);
        following.push({ world: moved, history, left });
      }
    }
    layer = following;
  }
  return { states: seen.size, depth, isComplete: true, violation: null };
}

function attempt(move: () => World): World | Violation {
  try {
    return move();
  } catch (error) {
    if (error instanceof Violation) return error;
    throw error;
  }
}

function checked(world: World): World {
  const violation = findEffectViolation(world);
  if (violation !== null) throw new Violation(violation);
  return world;
}

type Move = readonly [name: string, move: (world: World) => World, cost: keyof Limits | null];

const ENDINGS: readonly Ending[] = ["succeeded", "final", "interrupted"];
const ACTIONS: readonly Action[] = ["compensate", "retry", "skip", "terminate"];
const TURN = { answer: "given", mayOpen: true, mayTakeOver: true } as const;

function* movesFrom({ world, left }: Node): Generator<Move> {
  yield ["due", passUntilDue, null];
  if (left.signals > 0) yield ["signal", (from) => signal(from, "w"), "signals"];
  if (left.operations > 0) {
    for (const action of ACTIONS) yield [action, (from) => act(from, action), "operations"];
  }
  for (const [index, worker] of world.workers.entries()) {
    // The workers are alike but for this: the first one may decide long after it loaded, the second renews its lease.
    if (index === 0 && worker.run === null && worker.copy === null) yield ["load 0", (from) => load(from, 0), null];
    if (worker.unsure !== null) {
      yield [`resolve ${index}`, (from) => resolve(from, index), null];
    } else if (worker.run === null) {
      yield [`turn ${index}`, (from) => turn(from, index, TURN), null];
      if (left.faults > 0) {
        yield [`turn, answer lost ${index}`, (from) => turn(from, index, { ...TURN, answer: "lost" }), "faults"];
      }
    } else {
      yield [`land ${index}`, (from) => land(from, index), null];
      if (index === 1) yield ["renew 1", (from) => renew(from, 1), null];
      for (const ending of ENDINGS) {
        yield [`${ending} ${index}`, (from) => end(from, index, ending, "given"), null];
        if (left.faults > 0 && ending === "succeeded") {
          yield [`${ending}, answer lost ${index}`, (from) => end(from, index, ending, "lost"), "faults"];
        }
      }
      if (left.faults > 0) yield [`crash ${index}`, (from) => crash(from, index), "faults"];
    }
  }
}

/** What tells one state from another: no instants but whether they have come, no tokens and ids but which are the same. */
function keyOfWorld(world: World, left: Limits): string {
  const names = new Map<string, number>();
  const named = (name: string | null) => {
    if (name === null) return null;
    if (!names.has(name)) names.set(name, names.size);
    return names.get(name);
  };
  const short = ({ execution, attempts, signals }: ExecutionRecord) => [
    execution.status,
    execution.direction,
    execution.currentStep,
    execution.epoch,
    execution.attempt,
    named(execution.owner),
    execution.dueAt === null ? null : execution.dueAt <= world.now,
    execution.wakeAt === null,
    execution.waitingFor,
    execution.request?.action,
    execution.blockedReason,
    execution.signalsSeen,
    world.record.execution.revision - execution.revision,
    attempts.map((row) => [named(row.id), row.stepName, row.epoch, row.status, row.undo].join()).join(";"),
    signals.length,
  ];
  return JSON.stringify([
    short(world.record),
    world.workers.map(({ copy, run, unsure }) => [
      copy === null ? null : short(copy),
      run === null ? null : [named(run.token), short(run.believed), run.outcome?.kind, run.landed],
      unsure === null ? null : [
        named(unsure.run?.token ?? null),
        unsure.outcome?.kind,
        short({ execution: unsure.change.execution, attempts: unsure.change.attempts, signals: [] }),
      ],
    ]),
    [...world.effects].sort(),
    [...world.forbidden].sort(),
    world.cutUntil > world.now,
    world.isTerminated,
    Object.values(left),
  ]);
}
