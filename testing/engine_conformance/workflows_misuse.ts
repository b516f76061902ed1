/** Functions that call for steps as they must not: refused with what to write instead, or safe. */

import assert from "node:assert/strict";
import type { Flow, FlowParallel } from "../../src/definition/flow.ts";
import { workflow } from "../../src/definition/workflow.ts";
import { type Cases, range } from "./suite.ts";

/** What a function does, what the message has to say of it, and which of its steps may have run. */
const REFUSED: readonly {
  readonly what: string;
  readonly run: (flow: Flow, ran: (step: string) => () => void) => unknown;
  readonly says: RegExp;
  readonly ran?: readonly string[];
}[] = [
  {
    what: "Promise.all over steps",
    run: (flow, ran) => Promise.all(["a", "b"].map((name) => flow.step(name, ran(name)))),
    says: /step "b" was called while "a" was still running; .*flow\.parallel\(name, \(p\) => .*instead of Promise\.all/,
  },
  {
    what: "Promise.all over functions with steps",
    run: (flow, ran) =>
      Promise.all(["a", "b"].map(async (name) => {
        await null;
        await flow.step(name, ran(name));
      })),
    says: /step "b" was called while "a" was still running/,
  },
  {
    what: "Promise.race over steps and a sleep",
    run: (flow, ran) => Promise.race([flow.step("a", ran("a")), flow.sleep("nap", "1s")]),
    says: /step "nap" was called while "a" was still running/,
  },
  {
    what: "a step whose promise is forgotten",
    run: (flow, ran) => {
      void flow.step("a", ran("a"));
    },
    says: /(its function ended|step "fallback" was called) while (step )?"a" was still running; await/,
  },
  {
    what: "a step whose promise is forgotten before another step",
    run: async (flow, ran) => {
      void flow.step("a", ran("a"));
      await flow.step("b", ran("b"));
    },
    says: /step "b" was called while "a" was still running; await each call/,
  },
  {
    what: "a function with steps whose promise is forgotten",
    run: async (flow, ran) => {
      const forgotten = async () => {
        await flow.step("b", ran("b"));
      };
      const first = flow.step("a", ran("a"));
      void forgotten();
      await first;
    },
    says: /step "b" was called while "a" was still running/,
  },
  {
    what: "a sleep whose promise is forgotten before another one",
    run: async (flow) => {
      void flow.sleep("one", "1s");
      void flow.sleep("two", "1s");
      await flow.sleep("three", "1s");
    },
    says: /step "two" was called while "one" was still running/,
  },
  {
    what: "a call whose promise is forgotten",
    run: (flow, ran) => {
      void flow.step("a", ran("a"));
      void flow.call(workflow("misuse.child", () => {}), {});
    },
    says: /use a definition that the engine was given/,
  },
  {
    what: "a step inside of a step that awaits it",
    run: (flow, ran) =>
      flow.step("a", async () => {
        await flow.step("b", ran("b"));
      }),
    says: /step "b" was called while "a" was still running; .*do not call flow inside of a step/,
  },
  {
    what: "a step inside of a step that catches everything",
    run: (flow, ran) =>
      flow.step("a", async () => {
        await flow.step("b", ran("b")).catch(() => {});
      }),
    says: /step "b" was called while "a" was still running/,
  },
  {
    what: "a step inside of a step that forgets it",
    run: (flow, ran) =>
      flow.step("a", () => {
        const forgotten = async () => {
          await flow.step("b", ran("b"));
        };
        void forgotten();
      }),
    says: /step "b" was called while "a" was still running/,
  },
  {
    what: "a sleep inside of a step",
    run: (flow) => flow.step("a", () => flow.sleep("nap", "1s")),
    says: /step "nap" was called while "a" was still running/,
  },
  {
    what: "a step inside of a branch",
    run: (flow, ran) =>
      flow.parallel("p", (p) => ({
        x: p.step(async () => {
          await flow.step("b", ran("b"));
        }),
      })),
    says: /step "b" was called while "p" was still running/,
  },
  {
    what: "a step inside of the function that declares branches",
    run: (flow, ran) =>
      flow.parallel("p", (p) => {
        void flow.step("a", ran("a"));
        return { x: p.step(ran("x")) };
      }),
    says: /step "a" was called while "p" was still running/,
  },
  {
    what: "an abort inside of the function that declares branches",
    run: (flow) => flow.parallel("p", () => flow.abort("no")),
    says: /flow\.abort\(\) was called while "p" was still running/,
  },
  {
    what: "an abort inside of a step",
    run: (flow) =>
      flow.step("a", () => {
        flow.abort("no");
      }),
    says: /flow\.abort\(\) was called while "a" was still running; return fail\(reason\) from the step/,
  },
  {
    what: "two steps of one name",
    run: async (flow, ran) => {
      await flow.step("a", ran("a"));
      await flow.step("a", ran("a"));
    },
    says: /step "a" is there already at position 0; each step needs a name of its own/,
    ran: ["a"],
  },
  {
    what: "a second pivot",
    run: async (flow, ran) => {
      await flow.pivot("a", ran("a"));
      await flow.pivot("b", ran("b"));
    },
    says: /"b" is a second pivot; use step\(\): "a" is the pivot already/,
    ran: ["a"],
  },
  {
    what: "an undo after the pivot",
    run: async (flow, ran) => {
      await flow.pivot("a", ran("a"));
      await flow.step("b", ran("b"), { undo: () => {} });
    },
    says: /flow\.b\.undo.*leave it out: after the pivot nothing is undone/,
    ran: ["a"],
  },
  {
    what: "an undo of a branch after the pivot",
    run: async (flow, ran) => {
      await flow.pivot("a", ran("a"));
      await flow.parallel("p", (p) => ({ x: p.step(ran("x"), { undo: () => {} }) }));
    },
    says: /leave it out: after the pivot nothing is undone/,
    ran: ["a"],
  },
  {
    what: "a name with a slash",
    run: (flow, ran) => flow.step("a/b", ran("a/b")),
    says: /"a\/b".*must not contain a slash/,
  },
  {
    what: "a name that is reserved for hooks",
    run: (flow, ran) => flow.step("~completed", ran("a")),
    says: /must not begin with ~/,
  },
  {
    what: "a parallel without branches",
    run: (flow) => flow.parallel("p", () => ({})),
    says: /declare at least one branch/,
  },
  {
    what: "a parallel of promises that reject",
    run: (flow) => flow.parallel("p", () => ({ x: rejected(), y: rejected() }) as never),
    says: /flow\.p\.x is a promise; use what p\.step\(\) or p\.transaction\(\) returns/,
  },
  {
    what: "a parallel whose function is asynchronous",
    run: (flow) => flow.parallel("p", ((p: FlowParallel<unknown>) => Promise.resolve({ x: p.step(() => 1) })) as never),
    says: /flow\.p is a promise; its function has to return an object of branches/,
  },
  {
    what: "a branch with a slash in its name",
    run: (flow, ran) => flow.parallel("p", (p) => ({ "a/b": p.step(ran("a/b")) })),
    says: /: flow\.p\["a\/b"\] is "a\/b"; as a name it must not contain a slash/,
  },
  {
    what: "the promise of what is to be done, which rejects,",
    run: (flow) => flow.step("a", rejected() as never),
    says: /flow\.a\.run is a promise; use a function/,
  },
  {
    what: "a sleep without a duration",
    run: (flow) => flow.sleep("nap", "soon" as never),
    says: /flow\.nap/,
  },
  {
    what: "a step without code",
    run: (flow) => flow.step("a", "code" as never),
    says: /flow\.a\.run.*use a function/,
  },
  {
    what: "an unknown option",
    run: (flow, ran) => flow.step("a", ran("a"), { retries: 3 } as never),
    says: /^Cannot run workflow "misuse": there is no option flow\.a\.retries; use/,
  },
  {
    what: "a call of a definition that the engine does not know",
    run: (flow) => flow.call(workflow("misuse.unknown", () => {}), {}),
    says: /"misuse\.unknown".*use a definition that the engine was given/,
  },
  {
    what: "a call of what is no definition",
    run: (flow) => flow.call("misuse.child" as never, {}),
    says:
      /^Cannot run workflow "misuse": flow\.call\.definition is "misuse\.child"; use a definition that the engine was given/,
  },
  {
    what: "a call with an unknown option",
    run: (flow) => flow.call(workflow("misuse.child", () => {}), {}, { timeout: "1h" } as never),
    says: /: there is no option flow\.call\.timeout; use name or partition/,
  },
  {
    what: "a call into what is no partition",
    run: (flow) => flow.call(workflow("misuse.child", () => {}), {}, { partition: 5 as never }),
    says: /: flow\.call\.partition is 5; use 1 to 200 letters/,
  },
  {
    what: "a hook after a step",
    run: async (flow, ran) => {
      await flow.step("a", ran("a"));
      flow.on("completed", () => {});
    },
    says: /flow\.on\("completed"\) comes after a step; declare it before/,
    ran: ["a"],
  },
  {
    what: "a hook that is declared twice",
    run: (flow) => {
      flow.on("completed", () => {});
      flow.on("completed", () => {});
    },
    says: /flow\.on\("completed"\) is declared twice/,
  },
  {
    what: "a hook on what does not happen",
    run: (flow) => flow.on("failed" as never, () => {}),
    says: /use "completed" or "compensated"/,
  },
];

/** As `flow.step("a", charge())` has it, which was to be `() => charge()`. */
const rejected = () => Promise.reject(new Error("declined"));

/** Registers the cases. */
export function workflowMisuseCases({ add, addIf }: Cases): void {
  for (const { what, run, says, ran: expected = [] } of REFUSED) {
    for (const catches of [false, true]) {
      const how = catches ? ", though its function catches everything" : "";
      add(`workflow: ${what} is refused with what to write instead${how}`, async (world) => {
        const ran: string[] = [];
        const definition = workflow("misuse", async (flow) => {
          const note = (step: string) => () => void ran.push(step);
          try {
            await run(flow, note);
          } catch (error) {
            if (!catches) throw error;
          }
          if (catches) await flow.step("fallback", note("fallback"));
        });
        const { id } = await world.begin(definition);
        const { execution } = await world.ended(id);
        const message = execution.failure?.message ?? "";
        assert.deepEqual([execution.status, execution.blockedReason], ["blocked", "bug"], message);
        assert.match(message, says);
        assert.match(message, /^Cannot run workflow "misuse": /);
        assert.deepEqual(ran, expected);
      });
    }
  }

  addIf("no transactions", "workflow: a transaction on a store without any is refused by name", async (world) => {
    const definition = workflow("misuse.tx", (flow) => flow.transaction("pay", () => {}));
    const branch = workflow("misuse.tx.branch", async (flow) => {
      await flow.parallel("p", (p) => ({ pay: p.transaction(() => {}) }));
    });
    for (const [made, step] of [[definition, "pay"], [branch, "p/pay"]] as const) {
      const { id } = await world.begin(made);
      const { execution } = await world.ended(id);
      assert.equal(execution.blockedReason, "bug");
      assert.ok(
        execution.failure?.message.endsWith(
          `step "${step}" is a transaction, and the store cannot run any; use a store with SQL`,
        ),
        execution.failure?.message,
      );
    }
  });

  add("workflow: a step that is called after the function has returned does nothing", async (world) => {
    const ran: string[] = [];
    const definition = workflow("misuse.late", (flow) => {
      void world.gate("late").pass().then(() => flow.step("late", () => void ran.push("late")));
      return "done";
    });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.output, "done");
    const { revision } = await world.execution(id);
    world.gate("late").open();
    await world.advance("1m");
    assert.deepEqual([ran, (await world.execution(id)).revision], [[], revision]);
  });

  add("workflow: a step that is called while its function sleeps does nothing", async (world) => {
    const ran: string[] = [];
    const definition = workflow("misuse.asleep", async (flow) => {
      void world.gate("late").pass().then(() => flow.step("late", () => void ran.push("late")));
      await flow.sleep("nap", "1h");
      return "done";
    });
    const { id } = await world.begin(definition, { node: { sweepInterval: "10m" } });
    await world.advance("10m");
    world.gate("late").letOne();
    await world.ended(id, "2h");
    assert.equal((await world.execution(id)).output, "done");
    assert.deepEqual(ran, []);
  });

  add("workflow: the handle of one execution does nothing in another one", async (world) => {
    const ran: string[] = [];
    let other: Flow | null = null;
    const lends = workflow("misuse.lends", async (flow) => {
      other = flow;
      await flow.sleep("nap", "1h");
    });
    const borrows = workflow("misuse.borrows", async (flow) => {
      await flow.step("own", () => {});
      await Promise.race([other?.step("stolen", () => void ran.push("stolen")), null]);
      await flow.step("after", () => void ran.push("after"));
    });
    const node = world.node([lends, borrows]);
    node.work();
    const { execution: lender } = await node.engine.start(lends, { input: {} });
    await world.until(async () => (await world.execution(lender.id)).currentStep === "nap");
    const { execution } = await node.engine.start(borrows, { input: {} });
    assert.equal((await world.ended(execution.id)).execution.status, "completed");
    assert.deepEqual(ran, ["after"]);
  });

  for (const catches of [false, true]) {
    const how = catches ? ", after a failure that was caught" : "";
    add(`workflow: a step inside of an undo is refused with what to write instead${how}`, async (world) => {
      const ran: string[] = [];
      const definition = workflow("misuse.undo", async (flow) => {
        await flow.step("a", () => {}, {
          undo: async () => {
            await flow.step("b", () => void ran.push("b"));
          },
        });
        try {
          await flow.step("fails", ({ fail }) => fail("no"));
        } catch (error) {
          if (!catches) throw error;
          throw new Error("no way around", { cause: error });
        }
      });
      const { id } = await world.begin(definition);
      const { execution } = await world.ended(id);
      const message = execution.compensationFailure?.message ?? "";
      assert.deepEqual([execution.status, execution.blockedReason], ["blocked", "bug"], message);
      assert.match(message, /step "b" was called after its function had ended; do not call flow inside of an undo/);
      assert.deepEqual(ran, []);
    });
  }

  add("workflow: a call that fails before its function waits for it is caught all the same", async (world) => {
    const child = workflow("misuse.fails", (flow) => flow.step("a", ({ fail }) => fail("no")));
    const definition = workflow("misuse.waits", async (flow) => {
      const call = flow.call(child, {});
      await world.gate("late").pass();
      return await call.catch((error) => `caught ${error.message}`);
    });
    const node = world.node([child, definition]);
    node.work();
    const { execution: { id } } = await node.engine.start(definition, { input: {} });
    world.gate("late").letOne();
    await world.until(async () => (await world.execution(`${id}:misuse.fails`)).status === "failed");
    await world.until(world.gate("late").arrived(2));
    world.gate("late").open();
    assert.match(String((await world.ended(id)).execution.output), /^caught Step "misuse.fails\/result" failed/);
  });

  add("workflow: what was refused runs once its code is mended, from where it stood", async (world) => {
    const ran: string[] = [];
    let isBroken = true;
    const definition = workflow("misuse.mended", async (flow) => {
      await flow.step("first", () => void ran.push("first"));
      const names = ["a", "b"];
      if (isBroken) await Promise.all(names.map((name) => flow.step(name, () => void ran.push(name))));
      else for (const name of names) await flow.step(name, () => void ran.push(name));
    });
    const { id, node } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "blocked");
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual(ran, ["first", "a", "b"]);
  });

  add("workflow: names too long for a row of their own are refused", async (world) => {
    const long = "x".repeat(200);
    const branch = workflow("misuse.long.branch", async (flow) => {
      await flow.parallel(long, (p) => ({ [long]: p.step(() => {}) }));
    });
    const any = workflow("misuse.long.any", async (flow) => {
      await flow.waitForAny("any", range(3).map((n) => `${n}${"ä".repeat(50)}`));
    });
    const child = workflow("misuse.child", () => {});
    const call = workflow("misuse.long.call", async (flow) => {
      await flow.call(child, {}, { name: "y".repeat(199) });
    });
    const node = world.node([branch, any, call, child]);
    node.work();
    for (const definition of [branch, any, call]) {
      const { execution } = await node.engine.start(definition, { input: {} });
      const { execution: blocked } = await world.ended(execution.id);
      assert.equal(blocked.blockedReason, "bug", `${definition.name}: ${blocked.status}`);
      assert.match(blocked.failure?.message ?? "", /at most \d+ bytes/);
    }
  });
}
