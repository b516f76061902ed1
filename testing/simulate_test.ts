import assert from "node:assert/strict";
import { DECISIONS_OPTION } from "../src/engine/engine.ts";
import { DECISIONS } from "../src/engine/parts.ts";
import type { Flow, FlowScope } from "../src/definition/flow.ts";
import { saga } from "../src/definition/saga.ts";
import { workflow } from "../src/definition/workflow.ts";
import { memoryStore } from "../stores/memory.ts";
import { type Shop, shop } from "./shop.ts";
import {
  describeSimulation,
  NO_FAULTS,
  type Scenario,
  simulate,
  type SimulatedProcess,
  type SimulateOptions,
} from "./simulate.ts";
import { DELIBERATE_BUGS, type DeliberateBug } from "./simulate/deliberate_bugs.ts";

/** `deno task simulate --runs 5000` is the long version of this. */
const RUNS = 300;
const RUNS_PER_BUG = 2_000;

Deno.test(`simulate() finds nothing wrong in ${RUNS} runs`, async () => {
  for (let seed = 1; seed <= RUNS; seed++) {
    const found = await simulate({ seed });
    assert.equal(found.violation, null, describeSimulation(found));
  }
});

for (const bug of DELIBERATE_BUGS) {
  Deno.test(`simulate() finds the bug: ${bug.fault}`, async () => {
    const options = optionsWith(bug);
    for (let seed = 1; seed <= RUNS_PER_BUG; seed++) {
      const quick = await simulate({ ...options, seed, shortens: false });
      if (quick.violation === null) continue;
      const found = await simulate({ ...options, seed });
      console.log(`found in run ${seed}\n${describeSimulation(found)}`);
      assert.notEqual(found.violation, null);
      assert.ok(found.history.length > 0);
      return;
    }
    assert.fail(`not found in ${RUNS_PER_BUG} runs`);
  });
}

function optionsWith({ store, decisions }: DeliberateBug): SimulateOptions {
  return {
    ...(store === undefined ? {} : { store: (clock) => store(memoryStore({ clock })) }),
    ...(decisions === undefined ? {} : { [DECISIONS_OPTION]: { ...DECISIONS, ...decisions } }),
  };
}

Deno.test("simulate() gives the same history for a seed each time", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const one = await simulate({ seed, keepsHistory: true });
    const other = await simulate({ seed, keepsHistory: true });
    assert.ok(one.history.length > 0);
    assert.deepEqual(one, other);
  }
});

Deno.test("simulate() gives another history for another seed", async () => {
  const one = await simulate({ seed: 1, keepsHistory: true });
  const other = await simulate({ seed: 2, keepsHistory: true });
  assert.notDeepEqual(one.history, other.history);
});

Deno.test("simulate() replays a violation exactly, with its shortened history", async () => {
  const options = { ...forgetful(), seed: await firstFailing(forgetful()) };
  const one = await simulate(options);
  assert.deepEqual(await simulate(options), one);
  const whole = await simulate({ ...options, shortens: false, keepsHistory: true });
  assert.ok(one.history.length < whole.history.length, `${one.history.length} of ${whole.history.length}`);
});

Deno.test("simulate() without faults completes everything", async () => {
  const { ends, violation } = await simulate({ scenario: checkout({ honoursKeys: true }), faults: NO_FAULTS });
  assert.deepEqual({ ends, violation }, { ends: { completed: 3 }, violation: null });
});

Deno.test("simulate() without faults takes nothing over, however long a step runs", async () => {
  const slow = saga<Record<never, never>, { process: SimulatedProcess }>("slow").step("a", {
    run: ({ resources }) => resources.process.pause(60_000),
    lease: "2s",
  });
  const scenario = (): Scenario => ({
    definitions: [slow],
    resources: (process) => ({ process }),
    starts: ["order-1", "order-2"].map((id) => ({ definition: slow, id, input: {} })),
    check: (ends) => ends.some(({ record }) => record.attempts.length !== 1) ? "something was taken over" : null,
  });
  for (let seed = 1; seed <= 20; seed++) {
    const { ends, violation } = await simulate({ seed, scenario, faults: NO_FAULTS });
    assert.deepEqual({ ends, violation }, { ends: { completed: 2 }, violation: null });
  }
});

Deno.test("simulate() finds nothing wrong with a saga whose steps hand on their keys", async () => {
  for (let seed = 1; seed <= 50; seed++) {
    const found = await simulate({ seed, scenario: checkout({ honoursKeys: true }) });
    assert.equal(found.violation, null, describeSimulation(found));
  }
});

Deno.test("simulate() finds a saga that charges twice because its service ignores keys", async () => {
  const found = await simulate({ ...forgetful(), seed: await firstFailing(forgetful()) });
  assert.equal(found.violation, "order-1:charge took effect 2 times");
});

Deno.test("simulate() finds nothing wrong with a workflow whose branches hand on their keys", async () => {
  for (let seed = 1; seed <= 50; seed++) {
    const found = await simulate({ seed, scenario: signUp({ honoursKeys: true }) });
    assert.equal(found.violation, null, describeSimulation(found));
  }
});

Deno.test("simulate() finds a workflow with a branch that takes effect twice", async () => {
  const options = { scenario: signUp({ honoursKeys: false }), faults: { ...NO_FAULTS, killedCalls: 0.1, kills: 2 } };
  for (let seed = 1; seed <= 500; seed++) {
    const { violation } = await simulate({ ...options, seed, shortens: false });
    if (violation === null) continue;
    return assert.match(violation, /^sign-up-\d:accounts\/(mail|chat) took effect \d times$/);
  }
  assert.fail("nothing was found");
});

Deno.test("simulate() reports what a scenario leaves blocked as no violation", async () => {
  const broken = saga("broken").step("a", {
    run: () => {
      throw new ReferenceError("oops is not defined");
    },
    retry: 1,
  });
  const scenario = (): Scenario => ({
    definitions: [broken],
    starts: [{ definition: broken, id: "order-1", input: {} }],
  });
  const { ends, violation } = await simulate({ scenario, faults: NO_FAULTS });
  assert.deepEqual({ ends, violation }, { ends: { blocked: 1 }, violation: null });
});

Deno.test("simulate() refuses a seed that is no whole number", async () => {
  await assert.rejects(simulate({ seed: 1.5 }), {
    name: "RangeError",
    message: "Cannot simulate: seed is 1.5; use a whole number of at least 0",
  });
});

Deno.test("describeSimulation() says the seed, what was wrong, and what happened when and where", () => {
  const at = Date.UTC(2026, 0, 1, 0, 1, 2, 345);
  const text = describeSimulation({
    seed: 7,
    violation: "order-1 is lost",
    history: [{ at, who: "w1", what: "is killed" }, { at: at + 1_000, who: "client", what: "complains" }],
    ends: { completed: 2, blocked: 1 },
    virtualMs: 0,
  });
  assert.equal(
    text,
    "seed 7: VIOLATION: order-1 is lost (2 completed, 1 blocked)\n" +
      "   62.345  w1      is killed\n" +
      "   63.345  client  complains",
  );
});

/** A checkout whose only step charges in a shop, three times over. */
function checkout(options: { readonly honoursKeys: boolean }): () => Scenario {
  return () => {
    const bank = shop(options);
    const definition = saga<Record<never, never>, { bank: Shop; process: SimulatedProcess }>("checkout")
      .step("charge", {
        run: async ({ key, resources }) => {
          await resources.process.pause(100);
          return { receipt: resources.bank.perform(key, "charge") };
        },
        undo: ({ stepKey, resources }) => resources.bank.takeBack(stepKey),
        undoOnFailure: true,
      })
      .step("ship", { run: ({ resources }) => resources.process.pause(100) });
    return {
      definitions: [definition],
      resources: (process) => ({ bank, process }),
      starts: ["order-1", "order-2", "order-3"].map((id) => ({ definition, id, input: {}, after: 1_000 })),
      check: () => twiceIn(bank),
    };
  };
}

/** Sign-ups whose accounts are opened at the same time. */
function signUp(options: { readonly honoursKeys: boolean }): () => Scenario {
  return () => {
    const office = shop(options);
    const definition = workflow("sign_up", async (flow: Flow<{ office: Shop; process: SimulatedProcess }>) => {
      const branch =
        (what: string) => async ({ key, resources }: FlowScope<{ office: Shop; process: SimulatedProcess }>) => {
          await resources.process.pause(100);
          return resources.office.perform(key, what);
        };
      const undo = ({ resources, stepKey }: { resources: { office: Shop }; stepKey: string }) =>
        resources.office.takeBack(stepKey);
      await flow.parallel("accounts", (parallel) => ({
        mail: parallel.step(branch("mail"), { undo, undoOnFailure: true }),
        chat: parallel.step(branch("chat"), { undo, undoOnFailure: true }),
      }));
      await flow.step("welcome", ({ resources }) => resources.process.pause(100));
    });
    return {
      definitions: [definition],
      resources: (process) => ({ office, process }),
      starts: ["sign-up-1", "sign-up-2"].map((id) => ({ definition, id, input: {}, after: 1_000 })),
      check: () => twiceIn(office),
    };
  };
}

function twiceIn({ standing }: Shop): string | null {
  const counts = new Map<string, number>();
  for (const { key } of standing) counts.set(key, (counts.get(key) ?? 0) + 1);
  const twice = [...counts].find(([, count]) => count > 1);
  return twice === undefined ? null : `${twice[0]} took effect ${twice[1]} times`;
}

/** A checkout in a shop that ignores keys; nothing but kills, so that it charges twice and not more often. */
function forgetful(): SimulateOptions {
  return { scenario: checkout({ honoursKeys: false }), faults: { ...NO_FAULTS, killedCalls: 0.1, kills: 2 } };
}

async function firstFailing(options: SimulateOptions): Promise<number> {
  for (let seed = 1; seed <= 500; seed++) {
    const { violation } = await simulate({ ...options, seed, shortens: false });
    if (violation === "order-1:charge took effect 2 times") return seed;
  }
  assert.fail("nothing was found");
}
