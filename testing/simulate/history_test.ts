import assert from "node:assert/strict";
import { relevantLines } from "./history.ts";

const LINES = ["order-1 begins", "w1 is killed", "order-12 begins", "order-1 ends: order-1 is lost", "w1 begins"]
  .map((what, index) => ({ at: index, who: "simulator", what }));

Deno.test("relevantLines() leaves out what is about other executions, and what came after", () => {
  const lines = relevantLines(LINES, "order-1 is lost", ["order-1", "order-12"]);
  assert.deepEqual(lines.map(({ what }) => what), ["order-1 begins", "w1 is killed", "order-1 ends: order-1 is lost"]);
});

Deno.test("relevantLines() keeps everything where no execution is named", () => {
  assert.deepEqual(relevantLines(LINES, "a worker does not stop", ["order-1", "order-12"]), LINES);
});
