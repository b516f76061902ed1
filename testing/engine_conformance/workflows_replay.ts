/** A function that runs again over its record: what has to be the same, and what comes of it where it is not. */

import assert from "node:assert/strict";
import type { Flow } from "../../src/definition/flow.ts";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import { workflow } from "../../src/definition/workflow.ts";
import type { ExecutionRecord } from "../../src/domain/record.ts";
import { StepFailed } from "../../src/errors.ts";
import { type Cases, range } from "./suite.ts";
import type { World } from "./world.ts";

type Run = (flow: Flow) => Promise<unknown>;

/** What was deployed while an execution of `a`, `b`, wait `go`, `d` stood at its wait, and what it says of it. */
const CHANGES: readonly { readonly what: string; readonly run: Run; readonly says: RegExp }[] = [
  {
    what: "a step was put before others",
    run: (flow) => steps(flow, "a", "new", "b", "go", "d"),
    says: /the record has "b" \(step\) at position 1, and the function reaches "new" \(step\)/,
  },
  {
    what: "a step that has run was renamed",
    run: (flow) => steps(flow, "a", "b2", "go", "d"),
    says: /the record has "b" \(step\) at position 1, and the function reaches "b2" \(step\)/,
  },
  {
    what: "steps that have run were swapped",
    run: (flow) => steps(flow, "b", "a", "go", "d"),
    says: /the record has "a" \(step\) at position 0, and the function reaches "b" \(step\)/,
  },
  {
    what: "a step that has run became one of another kind",
    run: async (flow) => {
      await flow.pivot("a", () => {});
      await steps(flow, "b", "go", "d");
    },
    says: /the record has "a" \(step\) at position 0, and the function reaches "a" \(pivot\)/,
  },
  {
    what: "a step that has run is no longer reached",
    run: (flow) => steps(flow, "a"),
    says: /the record has "b" at position 1 of what is done, the definition has nothing/,
  },
  {
    what: "the current step is no longer reached",
    run: (flow) => steps(flow, "a", "b"),
    says: /the execution stands on "go", and the function ends there/,
  },
  {
    what: "another step stands in the place of the current one",
    run: (flow) => steps(flow, "a", "b", "d"),
    says: /the execution stands on "go", and the function reaches "d"; give the changed workflow a new version, or/,
  },
  {
    what: "the current wait became a sleep",
    run: async (flow) => {
      await steps(flow, "a", "b");
      await flow.sleep("go", "1s");
    },
    says: /the execution stands on "go" \(wait\), and the function reaches "go" \(sleep\)/,
  },
];

/** Registers the cases. */
export function workflowReplayCases(cases: Cases): void {
  changeCases(cases);
  valueCases(cases);
  faultCases(cases);
  chanceCases(cases);
  lengthCases(cases);
}

function changeCases({ add }: Cases): void {
  for (const { what, run, says } of CHANGES) {
    add(`workflow: ${what} while an execution waits: recipe_changed, and nothing is undone`, async (world) => {
      const undone: string[] = [];
      const before = workflow("replay.change", async (flow) => {
        await flow.step("a", () => {}, { undo: () => void undone.push("a") });
        await steps(flow, "b", "go", "d");
      });
      const withUndo: Run = (flow) => run(undoing(flow, "a", () => void undone.push("a")));
      const { blocked, rolledBack } = await deployed(world, before, workflow("replay.change", withUndo as never));
      assert.equal(blocked.execution.blockedReason, "recipe_changed");
      assert.equal(blocked.execution.failure?.class, "RecipeChanged");
      assert.match(blocked.execution.failure?.message ?? "", says);
      assert.match(blocked.execution.failure?.message ?? "", /^replay\.change v1: /);
      assert.deepEqual(undone, []);
      // The old code is rolled out again.
      assert.equal((await rolledBack()).execution.status, "completed");
      assert.deepEqual(undone, []);
    });
  }

  add("workflow: a step was appended while an execution waits: it is run", async (world) => {
    const before = workflow("replay.append", (flow) => steps(flow, "a", "b", "go"));
    const after = workflow("replay.append", (flow) => steps(flow, "a", "b", "go", "d"));
    const { blocked } = await deployed(world, before, after);
    assert.equal(blocked.execution.status, "completed");
    assert.deepEqual(blocked.attempts.map(({ stepName }) => stepName), ["a", "b", "go", "d"]);
  });

  add("workflow: an undo that the record counts on and that is gone blocks as recipe_changed", async (world) => {
    const undone: string[] = [];
    const before = workflow("replay.undo", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      await flow.waitFor("go");
    });
    const after = workflow("replay.undo", (flow) => steps(flow, "a", "go"));
    const { blocked } = await deployed(world, before, after);
    assert.equal(blocked.execution.blockedReason, "recipe_changed");
    assert.match(
      blocked.execution.failure?.message ?? "",
      /the record counts on an undo of "a", and the function no longer gives it one/,
    );
    assert.deepEqual(undone, []);
  });

  add(
    "workflow: a step that is to be undone and is gone blocks, and is never passed over in silence",
    async (world) => {
      const before = workflow("replay.back", async (flow) => {
        await flow.step("a", () => {}, { undo: () => {} });
        await flow.waitFor("go");
      });
      const { id, node, worker } = await world.begin(before);
      await isWaiting(world, id);
      await world.until(worker.stop());
      const after = workflow("replay.back", (flow) => steps(flow, "a2", "go"));
      world.node([after], { connection: "second" }).work();
      await node.engine.compensate(id, { reason: "not needed" });
      const { execution } = await world.ended(id);
      assert.deepEqual(
        [execution.status, execution.blockedReason, execution.direction, execution.currentStep],
        ["blocked", "recipe_changed", "compensate", "a"],
      );
      assert.match(execution.compensationFailure?.message ?? "", /the record has "a" \(step\).*reaches "a2" \(step\)/);
    },
  );

  for (
    const [what, names, says] of [
      ["lost a branch", ["x"], /the record has the branch "both\/y", which the function no longer declares/],
      ["got a branch more", ["x", "y", "z"], /the parallel "both" has ended without the branch "both\/z"/],
      ["renamed a branch", ["x", "y2"], /the record has the branch "both\/y", which the function no longer declares/],
    ] as const
  ) {
    add(`workflow: a parallel that has run and ${what} blocks as recipe_changed`, async (world) => {
      const undone: string[] = [];
      const made = (branches: readonly string[]) =>
        workflow("replay.branches", async (flow) => {
          await flow.parallel("both", (p) =>
            Object.fromEntries(
              branches.map((name) => [name, p.step(() => {}, { undo: () => void undone.push(name) })]),
            ));
          await flow.waitFor("go");
        });
      const { blocked, rolledBack } = await deployed(world, made(["x", "y"]), made(names));
      assert.equal(blocked.execution.blockedReason, "recipe_changed");
      assert.match(blocked.execution.failure?.message ?? "", says);
      assert.deepEqual(undone, []);
      assert.equal((await rolledBack()).execution.status, "completed");
    });
  }

  add("workflow: a branch of a parallel that lost its undo blocks as recipe_changed", async (world) => {
    const made = (undo: boolean) =>
      workflow("replay.branch.undo", async (flow) => {
        await flow.parallel("both", (p) => ({ x: undo ? p.step(() => {}, { undo: () => {} }) : p.step(() => {}) }));
        await flow.waitFor("go");
      });
    const { blocked } = await deployed(world, made(true), made(false));
    assert.match(blocked.execution.failure?.message ?? "", /the record counts on an undo of "both\/x"/);
  });

  add("workflow: versions stand side by side, and an execution keeps its own", async (world) => {
    const versions = [1, 2].map((version) =>
      workflow("replay.versions", { version }, async (flow) => {
        await flow.waitFor("go");
        return await flow.step(`a${version}`, () => ({ ran: version }));
      })
    );
    const node = world.node(versions);
    node.work();
    const started = [];
    for (const definition of versions) started.push((await node.engine.start(definition, { input: {} })).execution);
    for (const { id } of started) await node.engine.signal(id, "go");
    for (const [index, { id, sagaVersion }] of started.entries()) {
      assert.equal(sagaVersion, index + 1);
      assert.deepEqual((await world.ended(id)).execution.output, { ran: index + 1 });
    }
  });
}

function valueCases({ add }: Cases): void {
  add(
    "workflow: the first pass and every later one are given equal copies: changing them has no effect",
    async (world) => {
      const passes: unknown[][] = [];
      const definition = workflow("replay.copies", async (flow, input: { list: number[] }) => {
        const seen: unknown[] = [structuredClone(input)];
        passes.push(seen);
        input.list.push(99);
        const made = await flow.step("make", () => ({ deep: { list: [1, 2] }, text: "ä" }));
        seen.push(structuredClone(made));
        made.deep.list.push(3);
        const nothing = await flow.step("nothing", () => {});
        const skipped = await flow.step("skipped", ({ skip }) => skip("no need"));
        const plain = await flow.step("plain", () => 7);
        seen.push([nothing, skipped, plain]);
        await flow.sleep("nap", "1s");
        return { made, input };
      });
      const { id } = await world.begin(definition, { start: { input: { list: [1] } } });
      const { execution, attempts } = await world.ended(id);
      const whole = passes.filter(({ length }) => length === 3);
      assert.ok(whole.length >= 2);
      for (const seen of whole) {
        assert.deepEqual(seen, [{ list: [1] }, { deep: { list: [1, 2] }, text: "ä" }, [null, null, 7]]);
      }
      assert.deepEqual(execution.output, { made: { deep: { list: [1, 2, 3] }, text: "ä" }, input: { list: [1, 99] } });
      assert.deepEqual([execution.input, execution.context], [{ list: [1] }, { list: [1] }]);
      assert.deepEqual(attempts[0]?.result, { deep: { list: [1, 2] }, text: "ä" });
    },
  );

  add("workflow: a function that returns nothing has the output null", async (world) => {
    const { id } = await world.begin(workflow("replay.null", (flow) => steps(flow, "a")));
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output, execution.currentStep], ["completed", null, ""]);
  });

  add("workflow: a function without any step completes", async (world) => {
    const { id } = await world.begin(workflow("replay.none", (_flow, input: { n: number }) => input.n + 1), {
      start: { input: { n: 1 } },
    });
    assert.deepEqual((await world.ended(id)).execution.output, 2);
  });

  add("workflow: a failure that is caught takes another way around, and replays so", async (world) => {
    const caught: unknown[] = [];
    const ran: string[] = [];
    const definition = workflow("replay.caught", async (flow) => {
      let way = "card";
      try {
        await flow.step("card", ({ fail }) => {
          ran.push("card");
          return fail("declined");
        });
      } catch (error) {
        assert.ok(error instanceof StepFailed);
        caught.push([error.step, error.errorClass, error.message]);
        way = await flow.step("invoice", () => {
          ran.push("invoice");
          return "invoice";
        });
      }
      await flow.sleep("nap", "1s");
      await flow.step("mail", () => void ran.push("mail"));
      return way;
    });
    const { id } = await world.begin(definition);
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output, execution.failure], ["completed", "invoice", null]);
    assert.deepEqual(ran, ["card", "invoice", "mail"]);
    const failure = ["card", "Failed", 'Step "card" failed: declined'];
    assert.deepEqual(caught, [failure, failure]);
    assert.deepEqual(attempts.map(({ stepName, position, status }) => [stepName, position, status]), [
      ["card", 0, "failed"],
      ["invoice", 1, "succeeded"],
      ["nap", 2, "succeeded"],
      ["mail", 3, "succeeded"],
    ]);
  });

  add("workflow: an operator's retry does not run a step again whose failure was caught", async (world) => {
    const ran: string[] = [];
    let isBroken = true;
    const definition = workflow("replay.caught.retry", async (flow) => {
      await flow.step("card", ({ fail }) => {
        ran.push("card");
        return fail("declined");
      }).catch(() => null);
      await flow.step("mail", ({ fail }) => {
        ran.push("mail");
        return isBroken ? fail("down") : undefined;
      });
    });
    const { id, node } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "failed");
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual(ran, ["card", "mail", "mail"]);
  });
}

function faultCases({ add }: Cases): void {
  for (
    const [what, fault, reason, says] of [
      ["a bug", () => void (undefined as unknown as { x: number }).x, "bug", /undefined/],
      ["a result that JSON would lose", () => ({ at: new Date(0) }) as never, "not_storable", /Date/],
    ] as const
  ) {
    add(`workflow: ${what} is never a failure that the function can catch: it blocks`, async (world) => {
      let isBroken = true;
      const caught: unknown[] = [];
      const undone: string[] = [];
      const definition = workflow("replay.fault", async (flow) => {
        await flow.step("a", () => {}, { undo: () => void undone.push("a") });
        try {
          return await flow.step("b", () => isBroken ? fault() : ({ mended: true }), { retry: 1 });
        } catch (error) {
          caught.push(error);
          return await flow.step("fallback", () => ({ mended: false }));
        }
      });
      const { id, node } = await world.begin(definition);
      const { execution } = await world.ended(id);
      assert.deepEqual(
        [execution.status, execution.blockedReason, execution.currentStep, caught, undone],
        ["blocked", reason, "b", [], []],
      );
      assert.match(execution.failure?.message ?? "", says);
      isBroken = false;
      await node.engine.retry(id);
      assert.deepEqual((await world.ended(id)).execution.output, { mended: true });
      assert.deepEqual(caught, []);
    });
  }

  add("workflow: a record that the store refuses is never a failure that the function can catch", async (world) => {
    const caught: unknown[] = [];
    const definition = workflow("replay.refused", async (flow) => {
      try {
        return await flow.step("a", () => ({ a: 1 }));
      } catch (error) {
        caught.push(error);
        return null;
      }
    });
    const node = world.node([definition]);
    node.around.refuse = (change) => change.attempts.some((row) => row.stepName === "a" && row.status === "succeeded");
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    const { execution: blocked } = await world.ended(execution.id);
    assert.deepEqual([blocked.status, blocked.blockedReason, caught], ["blocked", "not_storable", []]);
    assert.match(blocked.failure?.message ?? "", /The database refused it/);
    node.around.refuse = null;
    await node.engine.retry(execution.id);
    assert.deepEqual((await world.ended(execution.id)).execution.output, { a: 1 });
  });

  add("workflow: a bug between the steps blocks, and retry() goes on from there", async (world) => {
    let isBroken = true;
    const ran: string[] = [];
    const definition = workflow("replay.bug", async (flow) => {
      await flow.step("a", () => void ran.push("a"), { undo: () => void ran.push("undo a") });
      if (isBroken) (undefined as unknown as { x: () => void }).x();
      await flow.step("b", () => void ran.push("b"));
    });
    const { id, node } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.blockedReason, execution.failure?.class], [
      "blocked",
      "bug",
      "TypeError",
    ]);
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual(ran, ["a", "b"]);
  });

  add("workflow: an error between the steps is a failure: what was done is undone", async (world) => {
    const undone: string[] = [];
    const definition = workflow("replay.thrown", async (flow) => {
      await flow.step("a", () => {}, { undo: () => void undone.push("a") });
      throw new RangeError("too many");
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, execution.failure?.class, execution.failure?.message, execution.failure?.step, undone],
      ["compensated", "RangeError", "too many", null, ["a"]],
    );
  });

  for (
    const [what, output, says] of [
      ["JSON would lose", { at: new Map() }, /the output of workflow "replay.output"/],
      ["is too large", "x".repeat(2_000), /the output of workflow "replay.output"/],
    ] as const
  ) {
    add(`workflow: an output that ${what} blocks as not_storable`, async (world) => {
      const definition = workflow("replay.output", async (flow) => {
        await steps(flow, "a");
        return output as never;
      });
      const { id } = await world.begin(definition, { node: { maxJsonBytes: 1_000 } });
      const { execution } = await world.ended(id);
      assert.deepEqual([execution.status, execution.blockedReason], ["blocked", "not_storable"]);
      assert.match(execution.failure?.message ?? "", says);
    });
  }

  add(
    "workflow: an output that the store refuses blocks as not_storable, also where no step had just ended",
    async (world) => {
      let isRefused = true;
      const definition = workflow("replay.output.refused", async (flow) => {
        await flow.sleep("nap", "1s");
        return "refused";
      });
      const node = world.node([definition]);
      node.around.refuse = (change) => isRefused && change.execution.output === "refused";
      node.work();
      const { execution } = await node.engine.start(definition, { input: {} });
      const { execution: blocked } = await world.ended(execution.id);
      assert.deepEqual([blocked.status, blocked.blockedReason], ["blocked", "not_storable"]);
      isRefused = false;
      await node.engine.retry(execution.id);
      assert.equal((await world.ended(execution.id)).execution.output, "refused");
    },
  );
}

function chanceCases({ add }: Cases): void {
  add(
    "workflow: flow.now(), random() and uuid() are the same on every pass, and no other execution's",
    async (world) => {
      const passes = new Map<string, unknown[]>();
      const definition = workflow("replay.chance", async (flow) => {
        const drawn: unknown[] = [flow.now(), flow.random(), flow.uuid(), flow.uuid()];
        await flow.step("a", () => {
          // What is drawn inside of a step, which runs on one pass only, must not move the others.
          flow.random();
          return world.advance("1s");
        });
        drawn.push(flow.now(), flow.random(), flow.uuid());
        await flow.sleep("nap", "1s");
        drawn.push(flow.now(), flow.random(), flow.uuid());
        await flow.waitFor("go");
        drawn.push(flow.now(), flow.uuid());
        passes.set(flow.execution.id, [...passes.get(flow.execution.id) ?? [], drawn]);
        await flow.sleep("last", "1s");
        return drawn as never;
      });
      const node = world.node([definition]);
      node.work();
      const ids = ["one", "two"];
      for (const id of ids) {
        await node.engine.start(definition, { input: {}, id });
        await isWaiting(world, id);
        await node.engine.signal(id, "go");
        const { execution } = await world.ended(id);
        const [first, second] = passes.get(id) ?? [];
        assert.deepEqual([first, execution.output], [second, first]);
      }
      const [one, two] = ids.map((id) => (passes.get(id)?.[0] ?? []) as (number | string)[]);
      const uuids = [...one!, ...two!].filter((value) => typeof value === "string");
      assert.equal(new Set(uuids).size, 10);
      for (const uuid of uuids) {
        assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      }
      const numbers = [...one!, ...two!].filter((value) => typeof value === "number" && value < 1);
      assert.equal(new Set(numbers).size, 6);
    },
  );

  add("workflow: flow.now() is the time of the last record, and the start at first", async (world) => {
    const definition = workflow("replay.now", async (flow) => {
      const start = flow.now();
      await flow.sleep("nap", "1m");
      const woken = flow.now();
      return { start, woken };
    });
    const { id } = await world.begin(definition);
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual(execution.output, { start: execution.startedAt, woken: attempts[0]?.finishedAt });
  });

  add("workflow: in development two passes that come to different steps are told apart in the log", async (world) => {
    let passes = 0;
    const definition = workflow("replay.development", async (flow) => {
      const pass = ++passes;
      await flow.step("a", () => {});
      await flow.step(`b${pass}`, () => {});
    });
    const { id, node } = await world.begin(definition, { node: { development: true } });
    await world.ended(id);
    const [line] = node.lines("error");
    assert.match(
      line ?? "",
      /Two passes of workflow "replay\.development".* the first came to "b\d+" \(step\), the second to "b\d+" \(step\)/,
    );
  });

  for (const [what, recovers] of [["is caught", true], ["is let through", false]] as const) {
    add(`workflow: in development a failure that ${what} is no difference`, async (world) => {
      const definition = workflow("replay.caught", async (flow) => {
        try {
          await flow.step("a", ({ fail }) => fail("no"));
        } catch (error) {
          if (!recovers) throw error;
        }
      });
      const { id, node } = await world.begin(definition, { node: { development: true } });
      assert.equal((await world.ended(id)).execution.status, recovers ? "completed" : "failed");
      assert.deepEqual(node.lines("error"), []);
    });
  }

  add(
    "workflow: a first step with another name on each pass is told of, and blocks as recipe_changed",
    async (world) => {
      let passes = 0;
      const ran: string[] = [];
      const definition = workflow("replay.first", async (flow) => {
        const pass = ++passes;
        await flow.step(`a${pass}`, () => void ran.push(`a${pass}`));
        await flow.sleep(`nap${pass}`, "1s");
      });
      const { id, node } = await world.begin(definition);
      const { execution } = await world.ended(id);
      assert.equal(execution.blockedReason, "recipe_changed");
      assert.match(execution.failure?.message ?? "", /; give the changed workflow a new version, or keep what decides/);
      const [line] = node.lines("error");
      assert.match(line ?? "", /Cannot run "a\d" of execution .*: its function does not come to it again; keep what/);
      assert.deepEqual(ran, []);
    },
  );
}

function lengthCases({ add }: Cases): void {
  add("workflow: a thousand steps cost a commit each, and a handful of loads", async (world) => {
    let passes = 0;
    let ran = 0;
    const definition = workflow("replay.long", async (flow) => {
      passes++;
      let sum = 0;
      for (const n of range(1_000)) {
        sum += await flow.step(`n${n}`, () => {
          ran++;
          return n;
        });
      }
      return sum;
    });
    const { id, node } = await world.begin(definition, { node: { turnBudget: "1h" } });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output, ran], ["completed", 499_500, 1_000]);
    // One for the start, and one for all of the rest.
    assert.ok(passes <= 2, `${passes} passes`);
    assert.ok(node.count("commit") <= 1_001, `${node.count("commit")} commits`);
    assert.ok(node.count("load") <= 5, `${node.count("load")} loads`);
  });

  add("workflow: code between the steps may wait for something slow", async (world) => {
    const definition = workflow("replay.slow", async (flow) => {
      await world.gate("begin").pass();
      const a = await flow.step("a", () => 1);
      await world.gate("between").pass();
      const b = await flow.step("b", () => 2);
      await world.gate("end").pass();
      return a + b;
    });
    const { id } = await world.begin(definition);
    for (const name of ["begin", "between", "end"]) {
      await world.until(world.gate(name).arrived());
      await world.advance("3s");
      assert.equal((await world.execution(id)).status, "running");
      world.gate(name).open();
    }
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.output], ["completed", 3]);
    assert.deepEqual(await world.attempts(id), ["a#1 succeeded", "b#1 succeeded"]);
  });

  for (const [where, after] of [["before its first step", 0], ['after "a"', 1]] as const) {
    add(`workflow: a function that hangs ${where} is warned of, and holds no slot for ever`, async (world) => {
      const definition = workflow("replay.hangs", async (flow) => {
        if (after > 0) await flow.step("a", () => {});
        await world.gate("never").pass();
        await flow.step("b", () => {});
      });
      const other = workflow("replay.other", (flow) => steps(flow, "x"));
      const node = world.node([definition, other]);
      node.work({ partitions: { default: { concurrency: 1 } } });
      const { execution } = await node.engine.start(definition, { input: {} });
      await world.until(world.gate("never").arrived());
      await world.until(() => node.lines("warn").length > 0);
      assert.ok(
        node.lines("warn").some((line) =>
          line.startsWith('The function of workflow "replay.hangs" has not called for anything for 30000 ms') &&
          line.includes(where) && line.endsWith("put what takes long inside of a step")
        ),
        node.lines("warn").join("\n"),
      );
      const { execution: second } = await node.engine.start(other, { input: {} });
      assert.equal((await world.ended(second.id)).execution.status, "completed");
      world.gate("never").open();
      await world.ended(execution.id);
    });
  }
}

/** The old code until the wait, the new code from there on. */
async function deployed(
  world: World,
  before: AnyDefinition,
  after: AnyDefinition,
): Promise<{ readonly blocked: ExecutionRecord; readonly rolledBack: () => Promise<ExecutionRecord> }> {
  const { id, node, worker } = await world.begin(before);
  await isWaiting(world, id);
  await world.until(worker.stop());
  const recent = world.node([after], { connection: "second" });
  const recentWorker = recent.work();
  await node.engine.signal(id, "go");
  return {
    blocked: await world.ended(id),
    async rolledBack() {
      await world.until(recentWorker.stop());
      node.work();
      await node.engine.retry(id, { actor: "ann" });
      return await world.ended(id);
    },
  };
}

/** Steps of these names in a row; `go` is a wait. */
async function steps(flow: Flow, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (name === "go") await flow.waitFor("go");
    else await flow.step(name, () => {});
  }
}

/** The same handle, with an undo for the step of that name. */
function undoing(flow: Flow, name: string, undo: () => void): Flow {
  const step = (own: string, run: () => void) => own === name ? flow.step(own, run, { undo }) : flow.step(own, run);
  return { ...flow, step } as Flow;
}

async function isWaiting(world: World, id: string): Promise<void> {
  await world.until(async () => (await world.execution(id)).waitingFor === "go");
}
