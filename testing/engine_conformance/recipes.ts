/** Definitions that change under way, several versions, a fleet that knows different ones: G19, G28. */

import assert from "node:assert/strict";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import { saga } from "../../src/definition/saga.ts";
import { type Cases, range } from "./suite.ts";
import type { World } from "./world.ts";

type Made = AnyDefinition;

/** What was deployed while an execution of `a`, `b`, wait `go`, `d` stood at its wait, and what has to come of it. */
const CHANGES: readonly {
  readonly what: string;
  readonly deploy: (name: string) => Made;
  readonly outcome: "completed" | "recipe_changed";
  readonly ran?: readonly string[];
}[] = [
  {
    what: "a step was appended",
    deploy: (name) => base(name).step("d", () => {}).step("e", () => {}),
    outcome: "completed",
    ran: ["a", "b", "go", "d", "e"],
  },
  {
    what: "a step to come was replaced",
    deploy: (name) => base(name).step("x", () => {}),
    outcome: "completed",
    ran: ["a", "b", "go", "x"],
  },
  {
    what: "all steps to come were removed",
    deploy: (name) => base(name),
    outcome: "completed",
    ran: ["a", "b", "go"],
  },
  {
    what: "a step was put before the cursor",
    deploy: (name) =>
      saga(name).step("a", () => {}).step("new", () => {}).step("b", () => {}).waitFor("go").step("d", () => {}),
    outcome: "recipe_changed",
  },
  {
    what: "a step that has run was renamed",
    deploy: (name) => saga(name).step("a", () => {}).step("b2", () => {}).waitFor("go").step("d", () => {}),
    outcome: "recipe_changed",
  },
  {
    what: "steps that have run were swapped",
    deploy: (name) => saga(name).step("b", () => {}).step("a", () => {}).waitFor("go").step("d", () => {}),
    outcome: "recipe_changed",
  },
  {
    what: "a step that has run was removed",
    deploy: (name) => saga(name).step("a", () => {}).waitFor("go").step("d", () => {}),
    outcome: "recipe_changed",
  },
  {
    what: "the current step was removed",
    deploy: (name) => saga(name).step("a", () => {}).step("b", () => {}).step("d", () => {}),
    outcome: "recipe_changed",
  },
];

/** Registers the cases. */
export function recipeCases({ add }: Cases): void {
  for (const { what, deploy, outcome, ran } of CHANGES) {
    add(`G19 ${what} while an execution waits: ${outcome}`, async (world) => {
      const before = base("g19").step("d", () => {});
      const { id, node, worker } = await world.begin(before);
      await world.until(async () => (await world.execution(id)).waitingFor === "go");
      await world.until(worker.stop());
      const after = deploy("g19");
      const deployed = world.node([after], { connection: "second" });
      const deployedWorker = deployed.work();
      await node.engine.signal(id, "go");
      const { execution, attempts } = await world.ended(id);
      if (outcome === "completed") {
        assert.deepEqual([execution.status, attempts.map(({ stepName }) => stepName)], ["completed", ran]);
        return;
      }
      assert.deepEqual([execution.status, execution.blockedReason], ["blocked", "recipe_changed"]);
      assert.equal(execution.failure?.class, "RecipeChanged");
      // The old code is rolled out again.
      await world.until(deployedWorker.stop());
      node.work();
      await node.engine.retry(id, { actor: "ann" });
      await node.engine.signal(id, "go").catch(() => {});
      assert.equal((await world.ended(id)).execution.status, "completed");
    });
  }

  for (
    const [what, deploy] of [
      ["lost its undo", (name: string) => saga(name).step("a", () => {}).step("b", () => {}).waitFor("go")],
      ["was renamed", (name: string) => saga(name).step("a2", undoable()).step("b", () => {}).waitFor("go")],
    ] as const
  ) {
    add(`G19 a step that is to be undone and ${what} blocks, and is never passed over in silence`, async (world) => {
      const before = saga("g19.undo").step("a", undoable()).step("b", () => {}).waitFor("go");
      const { id, node, worker } = await world.begin(before);
      await world.until(async () => (await world.execution(id)).waitingFor === "go");
      await world.until(worker.stop());
      world.node([deploy("g19.undo") as Made], { connection: "second" }).work();
      await node.engine.compensate(id, { reason: "not needed" });
      const { execution } = await world.ended(id);
      assert.deepEqual(
        [execution.status, execution.blockedReason, execution.direction, execution.currentStep],
        ["blocked", "recipe_changed", "compensate", "a"],
      );
    });
  }

  add("G19 versions stand side by side, and an execution keeps its own", async (world) => {
    const versions = [1, 2].map((version) =>
      saga("g19.versions", { version }).waitFor("go").step("a", () => ({ ran: version }))
    );
    const node = world.node(versions);
    node.work();
    const started = [];
    for (const definition of versions) started.push((await node.engine.start(definition, { input: {} })).execution);
    for (const { id } of started) await node.engine.signal(id, "go");
    for (const [index, { id, sagaVersion }] of started.entries()) {
      assert.equal(sagaVersion, index + 1);
      assert.equal((await world.ended(id)).execution.context.ran, index + 1);
    }
  });

  add("G28 a worker that does not know a version leaves its executions alone", async (world) => {
    const [old, recent] = [1, 2].map((version) => saga("g28", { version }).step("a", () => ({ ran: version })));
    const oldNode = world.node([old!]);
    oldNode.work();
    const newNode = world.node([old!, recent!], { connection: "second" });
    const { execution } = await newNode.engine.start(recent!, { input: {} });
    await world.advance("5m");
    assert.deepEqual(
      [(await world.execution(execution.id)).status, await world.attempts(execution.id)],
      ["running", []],
    );
    newNode.work();
    assert.equal((await world.ended(execution.id)).execution.context.ran, 2);
    assert.equal((await oldNode.engine.get(execution.id))?.sagaVersion, 2);
  });

  add("G28 a migration in the middle of the work disturbs nothing", async (world) => {
    const definition = saga("g28.migrate").step("a", () => ({ a: 1 })).sleep("nap", "1s").step("b", () => ({ b: 2 }));
    const node = world.node([definition]);
    node.work();
    const ids: string[] = [];
    for (const index of range(10)) {
      await world.store.migrate();
      ids.push((await node.engine.start(definition, { input: {}, id: `g28-${index}` })).execution.id);
    }
    await Promise.all(range(5).map(() => world.store.migrate()));
    for (const id of ids) assert.deepEqual((await world.ended(id)).execution.context, { a: 1, b: 2 });
  });

  add("a bug in the code of a worker's definition crashes no worker", async (world) => {
    const bad = saga("recipes.bad").step("a", () => {
      throw undefined;
    });
    const good = saga("recipes.good").step("a", () => {});
    const node = world.node([bad, good]);
    node.work();
    const { execution } = await node.engine.start(bad, { input: {} });
    const { execution: other } = await node.engine.start(good, { input: {} });
    await ends(world, other.id, "completed");
    await ends(world, execution.id, "failed");
  });
}

async function ends(world: World, id: string, status: string): Promise<void> {
  assert.equal((await world.ended(id)).execution.status, status);
}

function base(name: string) {
  return saga(name).step("a", () => {}).step("b", () => {}).waitFor("go");
}

function undoable() {
  return { run: () => {}, undo: () => {} };
}
