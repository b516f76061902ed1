import assert from "node:assert/strict";
import { pause } from "../src/clock.ts";
import { saga } from "../src/definition/saga.ts";
import {
  crashEverywhere,
  CrashEverywhereError,
  type CrashFinding,
  type CrashReport,
  type CrashWorld,
} from "./crash_everywhere.ts";
import { type Shop, shop } from "./shop.ts";

const standing = ({ bank }: { readonly bank: Shop }) => bank.standing.map(({ what }) => what);
const withShop = () => ({ bank: shop() });
const withTime = ({ clock }: CrashWorld) => ({ bank: shop(), wait: (ms: number) => pause(clock, ms) });

/** The report of a saga that does not stand it. */
async function reportOfFailure(run: Promise<unknown>): Promise<CrashReport> {
  try {
    await run;
  } catch (error) {
    if (error instanceof CrashEverywhereError) return error.report;
    throw error;
  }
  assert.fail("it passes");
}

function brief({ faults, kind, suspects }: CrashFinding) {
  return { kind, suspects, faults };
}

/** A step that honours its key, and one with an undo that copes with everything. */
const order = saga<{ declined?: boolean }, { bank: Shop }>("order")
  .step("charge", {
    run: ({ key, resources }) => ({ receipt: resources.bank.perform(key, "charge") }),
    undo: ({ resources, stepKey }) => resources.bank.takeBack(stepKey),
    undoOnFailure: true,
  })
  .step("ship", ({ context, fail, key, resources }) => {
    if (context.declined) return fail("no stock");
    return { parcel: resources.bank.perform(key, "ship") };
  });

Deno.test("crashEverywhere() passes a saga that honours its keys, in every single fault and every pair", async () => {
  const report = await crashEverywhere(order, { input: {}, resources: withShop, ledger: standing });
  const { doubled, end, findings, lost, pairs, possiblePairs, undosMissing } = report;
  assert.deepEqual({ doubled, end, findings, lost, undosMissing }, {
    doubled: 0,
    end: "completed",
    findings: [],
    lost: 0,
    undosMissing: 0,
  });
  assert.equal(pairs, possiblePairs);
  assert(pairs > 500, `${pairs} pairs`);
});

Deno.test("crashEverywhere() passes a saga that is undone", async () => {
  const options = { input: { declined: true }, resources: withShop, ledger: standing, pairs: 200 };
  const report = await crashEverywhere(order, options);
  assert.equal(report.end, "compensated");
});

Deno.test("crashEverywhere() lists points around start, sweep, claim, commit, code and resources", async () => {
  const { points } = await crashEverywhere(order, { input: {}, resources: withShop, ledger: standing, pairs: false });
  const calls = [...new Set(points.map((point) => point.replace(/#\d+:(before|after)$/, "")))];
  assert.deepEqual(calls.sort(), [
    "exchange.consume",
    "resources.bank.perform",
    "step.charge.run",
    "step.ship.run",
    "store.commit",
    "store.insert",
    "store.nextWake",
    "store.now",
    "store.workers.announce",
    "store.workers.unserved",
  ]);
});

Deno.test("crashEverywhere() is deterministic: the same saga has the same points and runs", async () => {
  const options = { input: {}, resources: withShop, ledger: standing, pairs: 20 };
  const first = await crashEverywhere(order, options);
  const second = await crashEverywhere(order, options);
  assert.deepEqual({ ...second, toString: null }, { ...first, toString: null });
});

Deno.test("crashEverywhere() says in one line what it tried", async () => {
  const report = await crashEverywhere(order, { input: {}, resources: withShop, ledger: standing, pairs: 10 });
  const { points, possiblePairs, singles } = report;
  assert.equal(
    String(report),
    `Saga "order" ends completed whatever crashes: 0 lost, 0 doubled, 0 undos missing in ${singles + 11} runs ` +
      `(${points.length} points, ${singles} runs with one fault, 10 of ${possiblePairs} with two)`,
  );
});

Deno.test("crashEverywhere() catches a step that ignores its key", async () => {
  let number = 0;
  const forgetful = saga<Record<never, never>, { bank: Shop }>("forgetful")
    .step("reserve", ({ key, resources }) => ({ reserved: resources.bank.perform(key, "reserve") }))
    .step("charge", ({ resources }) => ({ receipt: resources.bank.perform(`charge-${number++}`, "charge") }));
  const report = await reportOfFailure(
    crashEverywhere(forgetful, { input: {}, resources: withShop, ledger: standing }),
  );
  assert.deepEqual(report.findings.map(brief), [
    { kind: "doubled", suspects: ["step.charge.run"], faults: ["crash at resources.bank.perform#2:after"] },
  ]);
  assert.deepEqual([report.lost, report.doubled > 0, report.undosMissing, report.pairs], [0, true, 0, 0]);
});

Deno.test("crashEverywhere() catches an undo that is not idempotent", async () => {
  interface Bank {
    charge(key: string): void;
    refund(): void;
  }
  const refunding = saga<Record<never, never>, { bank: Bank }>("refunding")
    .step("charge", {
      run: ({ key, resources }) => resources.bank.charge(key),
      undo: ({ resources }) => resources.bank.refund(),
    })
    .step("ship", ({ fail }) => fail("no stock"));
  const resources = () => {
    const charges = new Set<string>();
    const entries: string[] = [];
    return {
      entries,
      bank: {
        charge: (key: string) => void (charges.has(key) || (charges.add(key), entries.push("charge"))),
        refund: () => void entries.push("refund"),
      },
    };
  };
  const report = await reportOfFailure(
    crashEverywhere(refunding, { input: {}, resources, ledger: ({ entries }) => entries }),
  );
  assert.deepEqual(report.findings.map(brief), [
    { kind: "doubled", suspects: ["step.charge.undo"], faults: ["crash at resources.bank.refund#1:after"] },
  ]);
  assert.match(String(report), /after the undo of "charge" ran again/);
});

Deno.test("crashEverywhere() catches an undo that knows only what the last try wrote", async () => {
  let number = 0;
  const partial = saga<Record<never, never>, { bank: Shop }>("partial")
    .step("charge", {
      run: ({ resources }) => {
        const paymentKey = `payment-${number++}`;
        resources.bank.perform(paymentKey, "charge");
        return { paymentKey };
      },
      undo: ({ resources, written }) => resources.bank.takeBack(written.paymentKey),
    })
    .step("ship", ({ fail }) => fail("no stock"));
  const report = await reportOfFailure(crashEverywhere(partial, { input: {}, resources: withShop, ledger: standing }));
  const [finding] = report.findings;
  assert.deepEqual([finding?.kind, finding?.details], ["undo_missing", ["charge"]]);
});

Deno.test("crashEverywhere() catches a failed step that took effect and is not undone", async () => {
  const hasty = saga<Record<never, never>, { bank: Shop }>("hasty").step("charge", {
    run: ({ key, resources }) => ({ receipt: resources.bank.perform(key, "charge") }),
    undo: ({ resources, stepKey }) => resources.bank.takeBack(stepKey),
    retry: 1,
  });
  const options = { input: {}, resources: withShop, ledger: standing, kinds: ["lost_answer"] } as const;
  const report = await reportOfFailure(crashEverywhere(hasty, options));
  assert.deepEqual(report.findings.map(brief), [
    { kind: "undo_missing", suspects: [], faults: ["lost answer at resources.bank.perform#1:after"] },
  ]);
});

Deno.test("crashEverywhere() catches a step that notes its effect before it has had it", async () => {
  interface Notes {
    add(key: string): boolean;
  }
  const noting = saga<Record<never, never>, { bank: Shop; notes: Notes }>("noting").step(
    "charge",
    ({ key, resources, skip }) => {
      if (!resources.notes.add(key)) return skip("done already");
      return { receipt: resources.bank.perform(key, "charge") };
    },
  );
  const resources = () => {
    const known = new Set<string>();
    return { bank: shop(), notes: { add: (key: string) => !known.has(key) && known.add(key) !== null } };
  };
  const report = await reportOfFailure(crashEverywhere(noting, { input: {}, resources, ledger: standing }));
  assert.deepEqual(report.findings.map(brief), [
    { kind: "lost", suspects: ["step.charge.run"], faults: ["crash at resources.notes.add#1:after"] },
  ]);
});

Deno.test("crashEverywhere() catches by two faults what stands one", async () => {
  const twice = saga<Record<never, never>, { bank: Shop }>("twice").step("charge", ({ attempt, key, resources }) => ({
    receipt: resources.bank.perform(attempt < 3 ? key : `${key}-${attempt}`, "charge"),
  }));
  const report = await reportOfFailure(crashEverywhere(twice, { input: {}, resources: withShop, ledger: standing }));
  assert(report.pairs > 0);
  assert.equal(report.findings[0]?.faults.length, 2);
});

Deno.test("crashEverywhere() refuses a saga that a crash leaves to a person, and says what to do", async () => {
  const once = saga<Record<never, never>, { bank: Shop }>("once").step("charge", {
    run: ({ key, resources }) => ({ receipt: resources.bank.perform(key, "charge") }),
    retry: 1,
  });
  const options = { input: {}, resources: withShop, ledger: standing, kinds: ["crash"] } as const;
  const report = await reportOfFailure(crashEverywhere(once, options));
  const [finding] = report.findings;
  assert.equal(finding?.kind, "needs_person");
  assert.match(finding?.details[0] ?? "", /^blocked as crashed at "charge"/);
  assert.equal(
    finding?.advice,
    "give the step more attempts than there are faults (1), or accept it with mayNeedPerson: true",
  );
});

Deno.test("crashEverywhere() accepts with mayNeedPerson what ends blocked, as long as nothing is doubled", async () => {
  const once = saga<Record<never, never>, { bank: Shop }>("once").step("charge", {
    run: ({ key, resources }) => ({ receipt: resources.bank.perform(key, "charge") }),
    retry: 1,
  });
  const report = await crashEverywhere(once, {
    input: {},
    resources: withShop,
    ledger: standing,
    kinds: ["crash"],
    mayNeedPerson: true,
  });
  assert.deepEqual(report.findings, []);
});

Deno.test("crashEverywhere() accepts that tries used up by faults turn it back, if all is undone", async () => {
  const impatient = saga<Record<never, never>, { bank: Shop }>("impatient")
    .step("reserve", {
      run: ({ key, resources }) => ({ reserved: resources.bank.perform(key, "reserve") }),
      undo: ({ resources, stepKey }) => resources.bank.takeBack(stepKey),
      undoOnFailure: true,
    })
    .step("charge", {
      run: ({ key, resources }) => ({ receipt: resources.bank.perform(key, "charge") }),
      undo: ({ resources, stepKey }) => resources.bank.takeBack(stepKey),
      undoOnFailure: true,
      retry: 1,
    });
  const seen = new Set<string>();
  await crashEverywhere(impatient, {
    input: {},
    resources: withShop,
    ledger: standing,
    pairs: 500,
    check: ({ execution }) => seen.add(execution.status),
  });
  assert.deepEqual([...seen].sort(), ["compensated", "completed"]);
});

Deno.test("crashEverywhere() lets a check look at each run, and counts what it throws", async () => {
  const runs: (readonly string[])[] = [];
  const report = await reportOfFailure(crashEverywhere(order, {
    input: {},
    resources: withShop,
    kinds: ["crash"],
    check: ({ attempts, faults }) => {
      runs.push(faults);
      assert(attempts.every(({ status }) => status === "succeeded"), "an attempt was abandoned");
    },
  }));
  assert.deepEqual([runs.length, runs[0]], [report.runs, []]);
  assert.deepEqual(report.findings.map(({ details, kind }) => ({ details, kind }))[0], {
    kind: "check",
    details: ["an attempt was abandoned"],
  });
});

Deno.test("crashEverywhere() sends signals once the saga waits, again where their answer was lost", async () => {
  const waiting = saga<Record<never, never>, { bank: Shop }>("waiting")
    .waitFor("paid", { timeout: "1d" })
    .step("ship", ({ context, key, resources }) => ({ parcel: resources.bank.perform(key, `ship ${context.paid}`) }));
  const report = await crashEverywhere(waiting, {
    input: {},
    resources: withShop,
    ledger: standing,
    signals: [{ name: "paid", payload: "today" }],
    pairs: 100,
  });
  assert(report.points.includes("store.signal#1:after"));
  assert(report.points.includes("exchange.publish#1:before"));
});

Deno.test("crashEverywhere() sends early signals before the saga waits", async () => {
  const waiting = saga<Record<never, never>, { bank: Shop; wait: (ms: number) => Promise<void> }>("waiting")
    .step("reserve", ({ resources }) => resources.wait(5_000))
    .waitFor("paid")
    .step("ship", ({ key, resources }) => ({ parcel: resources.bank.perform(key, "ship") }));
  const { points } = await crashEverywhere(waiting, {
    input: {},
    resources: withTime,
    ledger: standing,
    signals: [{ name: "paid", early: true }],
    pairs: 100,
  });
  assert(points.indexOf("store.signal#1:after") < points.indexOf("step.reserve.run#1:after"), points.join());
});

Deno.test("crashEverywhere() crashes in the middle of a step that takes its time, between its heartbeats", async () => {
  const slow = saga<Record<never, never>, { bank: Shop; wait: (ms: number) => Promise<void> }>("slow")
    .step("charge", async ({ key, resources }) => {
      await resources.wait(25_000);
      return { receipt: resources.bank.perform(key, "charge") };
    });
  const { points } = await crashEverywhere(slow, {
    input: {},
    resources: withTime,
    ledger: standing,
    pairs: 500,
  });
  assert(points.includes("store.renew#1:after"), points.join());
});

Deno.test("crashEverywhere() compares amounts as well as lists", async () => {
  interface Bank {
    pay(cents: number): void;
  }
  const paying = saga<{ cents: number }, { bank: Bank }>("paying").step(
    "pay",
    ({ context, resources }) => resources.bank.pay(context.cents),
  );
  const resources = () => {
    const account = { balance: 0 };
    return { account, bank: { pay: (cents: number) => void (account.balance -= cents) } };
  };
  const report = await reportOfFailure(
    crashEverywhere(paying, { input: { cents: 5 }, resources, ledger: ({ account }) => account }),
  );
  assert.deepEqual(report.findings[0]?.details, ["balance: -10 instead of -5"]);
});

Deno.test("crashEverywhere() refuses a saga that does not end even without faults", async () => {
  const waiting = saga("waiting").waitFor("paid");
  await assert.rejects(crashEverywhere(waiting, { input: {}, check: () => {}, within: "1h" }), {
    code: "invalid_options",
    message: 'Cannot crash saga "waiting": without a fault it stands at "paid"; ' +
      "give the signals that it waits for, or more time as within",
  });
});

Deno.test("crashEverywhere() refuses to run without anything to judge by", async () => {
  await assert.rejects(crashEverywhere(saga("empty").step("a", () => {}), { input: {} }), {
    code: "invalid_options",
    message: 'Cannot crash saga "empty": options.ledger is undefined; give a ledger, a check, or both',
  });
});

Deno.test("crashEverywhere() refuses options that it does not know, and kinds that there are not", async () => {
  const definition = saga("empty").step("a", () => {});
  const wrong = { input: {}, check: () => {}, kind: ["crash"] };
  await assert.rejects(crashEverywhere(definition, wrong), { code: "invalid_options" });
  const kinds = ["boom"] as unknown as ["crash"];
  await assert.rejects(crashEverywhere(definition, { input: {}, check: () => {}, kinds }), {
    message: 'Cannot crash saga "empty": options.kinds is ["boom"]; use a list of crash, refused, lost_answer',
  });
});

Deno.test("crashEverywhere() asks for the resources that the saga needs", () => {
  const calls = () => {
    // @ts-expect-error: resources are missing
    void crashEverywhere(order, { input: {}, ledger: standing });
    // @ts-expect-error: they are not what the saga needs
    void crashEverywhere(order, { input: {}, resources: () => ({ bank: 1 }), check: () => {} });
    // @ts-expect-error: the input is not what the saga takes
    void crashEverywhere(order, { input: { declined: "no" }, resources: withShop, ledger: standing });
  };
  assert.equal(typeof calls, "function");
});
