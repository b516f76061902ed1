import assert from "node:assert/strict";
import { isActive, isFinished, type Status } from "./record.ts";

const STATUSES: readonly Status[] = [
  "running",
  "compensating",
  "blocked",
  "completed",
  "compensated",
  "failed",
  "compensation_failed",
];

Deno.test("isActive() and isFinished(): each status is one of the two, or blocked", () => {
  assert.deepEqual(STATUSES.filter(isActive), ["running", "compensating"]);
  assert.deepEqual(STATUSES.filter(isFinished), ["completed", "compensated", "failed", "compensation_failed"]);
});
