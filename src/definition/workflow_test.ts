import assert from "node:assert/strict";
import { isSagaError } from "../errors.ts";
import { typed } from "./schema.ts";
import { workflow } from "./workflow.ts";

/** What workflow() says of these arguments. */
function refusalOf(...args: readonly unknown[]): string {
  try {
    (workflow as (...args: readonly unknown[]) => unknown)(...args);
  } catch (error) {
    assert.ok(isSagaError(error, "invalid_definition"), String(error));
    assert.match(error.message, /^Cannot define (a )?workflow.*[^.]$/);
    return `${error.details.path}: ${error.message}`;
  }
  return "nothing";
}

const run = () => {};

Deno.test("workflow() is a definition without steps, whose plan has more to say", () => {
  const definition = workflow("users.onboard", run);
  const { kind, name, partition, plan, version } = definition;
  assert.deepEqual({ kind, name, partition, version }, {
    kind: "workflow",
    name: "users.onboard",
    partition: "default",
    version: 1,
  });
  assert.deepEqual(plan, {
    name: "users.onboard",
    version: 1,
    steps: [],
    deadlineMs: null,
    end: { kind: "more" },
    compensatedHook: null,
  });
  assert.equal(definition.run, run);
  assert.ok(Object.isFrozen(definition) && Object.isFrozen(plan) && Object.isFrozen(plan.steps));
});

Deno.test("workflow() keeps its options", () => {
  const input = typed<{ n: number }>();
  const definition = workflow("w", { version: 3, partition: "slow", deadline: "2h", input }, run);
  const { partition, plan, version } = definition;
  assert.deepEqual([version, partition, plan.version, plan.deadlineMs], [3, "slow", 3, 7_200_000]);
  assert.equal(definition.input, input);
});

Deno.test("workflow() refuses what is no definition, and says where", () => {
  const cases: readonly [readonly unknown[], RegExp][] = [
    [[undefined, run], /name/],
    [["", run], /must not be empty/],
    [["a:b", run], /colon/],
    [["then", run], /reserved/],
    [["x".repeat(201), run], /at most 200 bytes/],
    [["w"], /^arguments\[1\]: .*use workflow\(name, options, async \(flow, input\) => …\)/],
    [["w", {}], /^arguments\[1\]: .*arguments\[1\] is \{\}/],
    [["w", {}, "run"], /^arguments\[2\]: .*arguments\[2\] is "run"/],
    [["w", {}, run, run], /there are too many arguments/],
    [["w", { version: 0 }, run], /version/],
    [["w", { version: 1.5 }, run], /version/],
    [["w", { partition: "a.b" }, run], /partition/],
    [["w", { deadline: "soon" }, run], /deadline/],
    [["w", { input: {} }, run], /input/],
    [["w", { retries: 3 }, run], /retries/],
    [["w", 7, run], /options/],
  ];
  for (const [args, says] of cases) assert.match(refusalOf(...args), says);
});
