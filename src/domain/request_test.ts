import assert from "node:assert/strict";
import { carryOut } from "./request.ts";
import type { Request } from "./record.ts";
import { skipStep } from "./operate.ts";
import { aPlan, failure, startOf, success, T0, Walk } from "./testing_walk.ts";
import { aProgram, WorkflowWalk } from "./testing_workflow.ts";

const PLAN = aPlan([{ name: "reserve", hasUndo: true }, "ship"]);
const REQUEST: Request = { action: "compensate", actor: "ada", reason: "why not", at: T0 };

Deno.test("carryOut() changes nothing where no request waits", () => {
  const record = startOf(PLAN);
  const { execution, attempts, operations } = carryOut(record, PLAN, new Walk(PLAN).making());
  assert.deepEqual(execution, { ...record.execution, revision: 2 });
  assert.deepEqual([attempts, operations], [[], []]);
});

Deno.test("carryOut() drops a compensation of what goes back already, and keeps it as it was", () => {
  const walk = new Walk(PLAN).runTo("ship");
  walk.end(failure({ cause: "final" }));
  walk.end(failure());
  const before = walk.execution;
  walk.record = { ...walk.record, execution: { ...before, request: REQUEST, wakeAt: T0 } };
  walk.turn();
  assert.deepEqual(walk.execution, { ...before, revision: before.revision + 1 });
  assert.deepEqual(walk.operations[0]?.detail, { request: "compensate", why: "it is being compensated already" });
});

Deno.test("carryOut() drops a request of what waits under the count of signals", () => {
  const plan = aPlan([{ name: "ship", kind: "pivot" }, { name: "paid", kind: "wait" }]);
  const walk = new Walk(plan).runTo("ship");
  walk.end({ kind: "succeeded", patch: null });
  const record = { ...walk.record, execution: { ...walk.execution, request: REQUEST, wakeAt: T0 } };
  const change = carryOut(record, plan, walk.making());
  assert.deepEqual([change.signalsSeen, change.execution.wakeAt, change.execution.waitingFor], [0, null, "paid"]);
});

Deno.test("carryOut() audits with the actor and the reason of the request", () => {
  const record = startOf(PLAN, { request: REQUEST });
  const [operation] = carryOut(record, PLAN, new Walk(PLAN).pass(10).making()).operations;
  const { id: _id, ...rest } = operation!;
  assert.deepEqual(rest, {
    executionId: "x",
    action: "request_carried_out",
    actor: "ada",
    reason: "why not",
    detail: { request: "compensate" },
    at: T0 + 10,
  });
});

Deno.test("carryOut() drops what a skipped step of a saga cannot add to the context", () => {
  for (const result of ["text", 7, [1], true]) {
    const walk = new Walk(PLAN).runTo("reserve");
    walk.end(failure({ cause: "not_storable" }));
    walk.operate((record, making) => skipStep(record, { actor: null, reason: null, result }, making));
    walk.turn();
    assert.deepEqual([walk.execution.status, walk.execution.request], ["blocked", null]);
    assert.equal(
      walk.operations.at(-1)?.detail?.why,
      "what a skipped step of a saga is to add to the context must be an object",
    );
  }
});

Deno.test("carryOut() lets a skipped step of a workflow return anything, and leaves the context alone", () => {
  for (const result of ["text", [1], { a: 1 }, null]) {
    const walk = new WorkflowWalk(aProgram(["a", "b"]));
    walk.turn();
    walk.end(failure({ cause: "not_storable" }));
    walk.operate((record, making) => skipStep(record, { actor: null, reason: null, result }, making));
    walk.turn();
    assert.deepEqual(walk.record.attempts.at(-1)?.result, result);
    assert.deepEqual([walk.execution.currentStep, walk.execution.context], ["b", { order: 7 }]);
    walk.end(success());
    assert.equal(walk.execution.status, "completed");
  }
});
