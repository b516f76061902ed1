import assert from "node:assert/strict";
import { randomFrom } from "../../testing/engine_conformance/world.ts";
import { leastFaults, planFaults } from "./schedule.ts";

Deno.test("planFaults() plans the same for the same seed, in order and within the run", () => {
  const plan = (seed: number) => planFaults({ seconds: 60, hasBroker: true, random: randomFrom(seed) });
  assert.deepEqual(plan(1), plan(1));
  assert.notDeepEqual(plan(1), plan(2));
  const times = plan(1).map(({ atMs }) => atMs);
  assert.deepEqual(times, times.toSorted((one, other) => one - other));
  assert.ok(times[0]! >= 1_000 && times.at(-1)! <= 60_000);
});

Deno.test("planFaults() plans more than has to happen, whatever the seed and the length", () => {
  for (let seed = 1; seed <= 50; seed++) {
    for (const seconds of [5, 15, 60, 300]) {
      const plan = planFaults({ seconds, hasBroker: true, random: randomFrom(seed) });
      for (const [kind, least] of Object.entries(leastFaults(seconds, true))) {
        assert.ok(plan.filter((fault) => fault.kind === kind).length >= least, `${seconds} s: too few of ${kind}`);
      }
    }
  }
});

Deno.test("planFaults() leaves the broker alone where there is none", () => {
  const plan = planFaults({ seconds: 60, hasBroker: false, random: randomFrom(1) });
  assert.deepEqual(
    new Set(plan.map(({ kind }) => kind)),
    new Set(["worker_killed", "worker_frozen", "backends_killed"]),
  );
});
