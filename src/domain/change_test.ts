import assert from "node:assert/strict";
import { advance, changeOf, join } from "./change.ts";
import type { Attempt, Operation } from "./record.ts";
import { aPlan, startOf, success, T0, Walk } from "./testing_walk.ts";

const PLAN = aPlan(["reserve", "charge"]);

function rows(): [Attempt, Attempt] {
  const walk = new Walk(PLAN);
  walk.turn();
  walk.end(success());
  walk.end(success());
  return [walk.record.attempts[0]!, walk.record.attempts[1]!];
}

Deno.test("changeOf() changes the fields that are given, raises the revision by one and guards nothing else", () => {
  const { execution } = startOf(PLAN);
  assert.deepEqual(changeOf(execution, { wakeAt: null }), {
    execution: { ...execution, wakeAt: null, revision: 2 },
    attempts: [],
    consumed: [],
    operations: [],
    signalsSeen: null,
    expired: null,
  });
});

Deno.test("advance() adds the rows, takes the consumed signals out and leaves the record that it was given alone", () => {
  const walk = new Walk(PLAN).signal("a").signal("b");
  const [row] = rows();
  const before = structuredClone(walk.record);
  const change = changeOf(walk.execution, { attempt: 1 }, { attempts: [row], consumed: ["s1"] });
  const after = advance(walk.record, change);
  assert.deepEqual(after.attempts, [row]);
  assert.deepEqual(after.signals.map(({ name }) => name), ["b"]);
  assert.deepEqual(walk.record, before);
});

Deno.test("advance() keeps the very rows and signals that a change does not touch", () => {
  const walk = new Walk(PLAN).signal("a");
  const after = advance(walk.record, changeOf(walk.execution, {}));
  assert.equal(after.attempts, walk.record.attempts);
  assert.equal(after.signals, walk.record.signals);
});

Deno.test("join() makes one commit of two: one revision, all rows in order, the later count and the first lease", () => {
  const { execution } = startOf(PLAN);
  const [one, two] = rows();
  const operation = (id: string): Operation => ({
    id,
    executionId: "x",
    action: "retry",
    actor: null,
    reason: null,
    detail: null,
    at: T0,
  });
  const first = changeOf(execution, { attempt: 1 }, {
    attempts: [one],
    consumed: ["s1"],
    operations: [operation("o1")],
    signalsSeen: 1,
    expired: { token: "w/1", at: T0 },
  });
  const second = changeOf(first.execution, { attempt: 2 }, {
    attempts: [two],
    consumed: ["s2"],
    operations: [operation("o2")],
    signalsSeen: 2,
    expired: { token: "w/2", at: T0 },
  });
  assert.deepEqual(join(first, second), {
    execution: { ...execution, attempt: 2, revision: 2 },
    attempts: [one, two],
    consumed: ["s1", "s2"],
    operations: [operation("o1"), operation("o2")],
    signalsSeen: 2,
    expired: { token: "w/1", at: T0 },
  });
});

Deno.test("join() keeps a guard that only one of the two has", () => {
  const { execution } = startOf(PLAN);
  const expired = { token: "w/1", at: T0 };
  const guarded = changeOf(execution, {}, { signalsSeen: 0, expired });
  const plain = changeOf(execution, {});
  for (const joined of [join(guarded, plain), join(plain, guarded)]) {
    assert.deepEqual([joined.signalsSeen, joined.expired], [0, expired]);
  }
});
