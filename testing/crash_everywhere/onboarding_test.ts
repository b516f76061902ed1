/** G01 over a whole workflow: a parallel, a sleep, a signal, hooks, an execution that it calls, and compensation. */

import assert from "node:assert/strict";
import { type Clock, pause } from "../../src/clock.ts";
import type { Flow } from "../../src/definition/flow.ts";
import { saga } from "../../src/definition/saga.ts";
import { workflow } from "../../src/definition/workflow.ts";
import { findViolation } from "../../src/domain/invariants.ts";
import type { Change } from "../../src/domain/change.ts";
import type { Store } from "../../src/store.ts";
import { memoryStore } from "../../stores/memory.ts";
import { sqliteStore } from "../../stores/sqlite.ts";
import { crashEverywhere, type CrashOptionsOf, type CrashRun, type CrashWorld } from "../crash_everywhere.ts";
import { type Shop, shop } from "../shop.ts";
import { hookedStore } from "../engine_conformance/hooked_store.ts";

interface Services {
  readonly office: Shop;
  readonly wait: (ms: number) => Promise<void>;
}

interface Person {
  readonly name: string;
  /** What goes wrong for good: the badge has another way around it, and at the pivot's gate everything turns back. */
  readonly trouble: "badge" | "gate" | null;
}

const takeBack = ({ resources, stepKey }: { readonly resources: Services; readonly stepKey: string }) =>
  resources.office.takeBack(stepKey);

const equipment = saga<{ name: string }, Services>("equipment.order")
  .step("laptop", {
    run: ({ key, resources }) => ({ laptop: resources.office.perform(key, "laptop") }),
    undo: takeBack,
    undoOnFailure: true,
  })
  .sleep("delivery", "5m")
  .step("desk", {
    run: ({ key, resources }) => ({ desk: resources.office.perform(key, "desk") }),
    undo: takeBack,
    undoOnFailure: true,
  });

const onboarding = workflow("users.onboard", async (flow: Flow<Services>, { name, trouble }: Person) => {
  flow.on("completed", ({ key, resources }) => void resources.office.perform(key, "welcome"));
  flow.on("compensated", ({ key, resources }) => void resources.office.perform(key, "regret"));
  const contract = await flow.step(
    "contract",
    ({ key, resources }) => resources.office.perform(key, `contract ${name}`),
    {
      undo: takeBack,
      undoOnFailure: true,
    },
  );
  const accounts = await flow.parallel("accounts", (parallel) => ({
    mail: parallel.step(({ key, resources }) => resources.office.perform(key, "mail"), {
      undo: takeBack,
      undoOnFailure: true,
    }),
    wiki: parallel.step(async ({ key, resources }) => {
      await resources.wait(2_000);
      return resources.office.perform(key, "wiki");
    }, { undo: takeBack, undoOnFailure: true }),
    chat: parallel.step(async ({ attempt, key, resources }) => {
      if (attempt === 1) throw new Error("the chat is busy");
      await resources.wait(1_000);
      return resources.office.perform(key, "chat");
    }, { undo: takeBack, undoOnFailure: true, retry: { attempts: 5, delay: "5s", jitter: false } }),
  }));
  await flow.sleep("first_day", "10m");
  await flow.waitFor<boolean>("arrived", { timeout: "30m" });
  const { laptop } = await flow.call(equipment, { name });
  const badge = await badgeOf(flow, trouble);
  if (trouble === "gate") {
    await flow.step("gate", ({ fail }) => fail("nobody may enter"));
  }
  await flow.pivot("announce", ({ key, resources }) => resources.office.perform(key, "announce"));
  return { contract, accounts, laptop, badge };
});

async function badgeOf(flow: Flow<Services>, trouble: Person["trouble"]): Promise<string> {
  try {
    return await flow.step("badge", ({ fail, key, resources }) => {
      if (trouble === "badge") return fail("the printer is broken");
      return resources.office.perform(key, "badge");
    }, { undo: takeBack, undoOnFailure: true }) ?? "";
  } catch {
    return await flow.step("paper_badge", ({ key, resources }) => resources.office.perform(key, "paper badge"), {
      undo: takeBack,
      undoOnFailure: true,
    });
  }
}

const STORES: Readonly<Record<string, (clock: Clock) => Store>> = {
  memory: (clock) => memoryStore({ clock }),
  SQLite: (clock) => sqliteStore({ path: ":memory:", clock }),
};

/** Of the pairs so many are run, evenly spread; `LEVERET_ALL_PAIRS=1` runs all of them on the memory store. */
const PAIRS: Readonly<Record<string, number>> = { memory: 1_000, SQLite: 100 };
const RUNS_ALL_PAIRS = Deno.env.get("LEVERET_ALL_PAIRS") === "1";

type Options = CrashOptionsOf<typeof onboarding, Services>;

function options(trouble: Person["trouble"], storeName: string): Options {
  return {
    input: { name: "ada", trouble },
    resources: ({ clock }: CrashWorld) => ({ office: shop(), wait: (ms: number) => pause(clock, ms) }),
    definitions: [equipment],
    ledger: ({ office }) => office.standing.map(({ key, what }) => `${key} ${what}`),
    check: checkRun,
    signals: [{ name: "arrived", payload: true }],
    store: STORES[storeName]!,
    pairs: RUNS_ALL_PAIRS && storeName === "memory" ? true : PAIRS[storeName]!,
  };
}

/** Beyond the standing effects: the invariants, one effect a key in all that ever took place, and no child left. */
function checkRun({ attempts, children, execution, resources }: CrashRun<Services>): void {
  assert.equal(findViolation({ execution, attempts, signals: [] }, onboarding.plan), null);
  for (const child of children) assert.equal(findViolation({ ...child, signals: [] }, equipment.plan), null);
  const keys = resources.office.ledger.map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length, `an effect took place twice: ${keys.join()}`);
  const expected = execution.status === "completed" ? ["completed"] : ["compensated", "failed"];
  assert.deepEqual(children.filter((child) => !expected.includes(child.execution.status)), []);
}

for (const storeName of Object.keys(STORES)) {
  for (
    const [what, trouble, end] of [
      ["that goes well", null, "completed"],
      ["that goes another way around", "badge", "completed"],
      ["that is undone, what it called included", "gate", "compensated"],
    ] as const
  ) {
    Deno.test(`G01 a crash anywhere loses nothing: a workflow ${what}, on the ${storeName} store`, async () => {
      const report = await crashEverywhere(onboarding, options(trouble, storeName));
      console.log(String(report));
      assert.deepEqual([report.end, report.lost, report.doubled, report.undosMissing], [end, 0, 0, 0]);
    });
  }
}

/** What a commit writes that a crash can part from what comes before and after it. */
const WRITES: Readonly<Record<string, (change: Change) => boolean>> = {
  "a step's end and the opening of the next": ({ attempts, execution }) =>
    attempts.some((row) => row.kind === "step" && row.direction === "execute") && execution.owner !== null,
  "the end of a branch while others run": ({ attempts, execution }) =>
    attempts.some((row) => row.kind === "branch") && execution.openBranches !== null,
  "a parallel that is closed until a branch is tried again": ({ attempts, execution }) =>
    attempts.some((row) => row.kind === "branch") && execution.owner === null && execution.currentStep === "accounts",
  "the parallel's own record": ({ attempts }) => attempts.some((row) => row.kind === "parallel"),
  "a sleep that begins": ({ execution }) => execution.currentStep === "first_day" && execution.attempt === 1,
  "a sleep that ends": ({ attempts }) => attempts.some((row) => row.stepName === "first_day"),
  "a wait that begins": ({ execution }) => execution.waitingFor === "arrived",
  "a signal that is consumed": ({ attempts, consumed }) =>
    consumed.length === 1 && attempts.some((row) => row.kind === "wait"),
  "the start of what is called": ({ attempts }) => attempts.some((row) => row.kind === "call"),
  "the look at what is called": ({ execution }) => execution.waitingFor?.startsWith("call ") === true,
  "the result of what is called": ({ attempts }) => attempts.some((row) => row.kind === "call_result"),
  "the end of what is called": ({ execution }) => execution.parentId !== null && execution.status === "completed",
  "the hook on its end": ({ attempts }) => attempts.some((row) => row.kind === "hook"),
  "the end": ({ execution }) => execution.parentId === null && execution.finishedAt !== null,
};

/** Only on the way back. */
const WRITES_OF_UNDO: typeof WRITES = {
  "the turn to compensation": ({ attempts, execution }) =>
    execution.status === "compensating" && attempts.every((row) => row.direction === "execute"),
  "the undo of a branch": ({ attempts }) =>
    attempts.some((row) => row.kind === "branch" && row.direction === "compensate"),
  "the request to what was called": ({ execution }) => execution.parentId !== null && execution.request !== null,
  "the undo of what was called": ({ attempts }) =>
    attempts.some((row) => row.kind === "call" && row.direction === "compensate"),
};

for (const trouble of [null, "gate"] as const) {
  Deno.test(`crashEverywhere() has points around all that a workflow writes, ${trouble ?? "no"} trouble`, async () => {
    let commits = 0;
    const found = new Map<string, string>();
    const expected = trouble === null ? WRITES : { ...WRITES, ...WRITES_OF_UNDO };
    const note = (call: string, [changes]: readonly unknown[]) => {
      if (call !== "commit") return;
      commits++;
      for (const [what, isOne] of Object.entries(expected)) {
        if ((changes as readonly Change[]).some(isOne) && !found.has(what)) found.set(what, `store.commit#${commits}`);
      }
    };
    const traffic = { begin: () => {}, end: () => {} };
    // Only the first run has no faults: it tells which commit is which.
    let isFirst = true;
    const report = await crashEverywhere(onboarding, {
      ...options(trouble, "memory"),
      store: (clock) => {
        const before = isFirst ? note : () => {};
        isFirst = false;
        return hookedStore(memoryStore({ clock }), () => ({ before }), traffic);
      },
      pairs: false,
    });
    assert.deepEqual(Object.keys(expected).filter((what) => !found.has(what)), []);
    for (const [what, call] of found) {
      assert.deepEqual([`${call}:before`, `${call}:after`].filter((point) => !report.points.includes(point)), [], what);
    }
    const calls = new Set(report.points.map((point) => point.replace(/#\d+:(before|after)$/, "")));
    const wanted = ["store.insert", "store.claimDue", "store.signal", "store.commit", "exchange.publish"];
    assert.deepEqual(wanted.filter((call) => !calls.has(call)), []);
  });
}
