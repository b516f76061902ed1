import assert from "node:assert/strict";
import { changed, changesOf, digestsOf } from "./changes.ts";
import type { MapModel, StepModel } from "./model.ts";

function step(name: string, running: number): StepModel {
  return {
    name,
    kind: null,
    running,
    compensating: 0,
    sleeping: 0,
    waiting: 0,
    blocked: 0,
    stalled: 0,
    failed: 0,
    timing: null,
    tokens: [],
    ages: null,
  };
}

function mapOf(charging: number): Omit<MapModel, "now"> {
  return {
    range: "1h",
    verdict: { isCalm: true, parts: [] },
    counts: { moving: 1 + charging, compensating: 0, pausing: 0, stalled: 0, blocked: 0, failed: 0 },
    lines: [{
      saga: "orders",
      moving: 1 + charging,
      steps: [step("reserve", 1), step("charge", charging)],
      trouble: 0,
    }],
    throughput: { from: 0, bucketMs: 60_000, buckets: [], isCut: false },
    groups: [],
    waiting: [],
    stalled: 0,
    troubles: [],
  };
}

Deno.test("changesOf() leaves out what the page has, and changed() puts it in again", () => {
  const [before, after] = [mapOf(1), mapOf(2)];
  const changes = changesOf(after, digestsOf(before));
  assert.deepEqual(changes, {
    counts: after.counts,
    lines: [{ saga: "orders", moving: 3, trouble: 0, steps: ["reserve", { ...step("charge", 2), tokens: null }] }],
  });
  assert.deepEqual(changed(before, changes), after);
});

Deno.test("changesOf() sends everything to a page that says nothing, and digests survive JSON", () => {
  const map = mapOf(1);
  assert.deepEqual(changesOf(map, ""), map);
  assert.equal(digestsOf(JSON.parse(JSON.stringify({ now: 5, ...map }))), digestsOf(map));
});

Deno.test("changed() refuses changes of a map that the page does not have", () => {
  const changes = changesOf(mapOf(2), digestsOf(mapOf(2)));
  assert.equal(changed({ ...mapOf(2), lines: [] }, changes), null);
});
