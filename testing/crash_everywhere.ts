/** Crashes a saga or a workflow everywhere, and shows which of its steps do not stand it. */

import { optionsAt, type Place, refusal, wholeNumberAt } from "../src/definition/check.ts";
import { type Duration, durationMs } from "../src/definition/duration.ts";
import type { AnyDefinition, InputOf, ResourcesOf } from "../src/definition/inference.ts";
import type { Clock } from "../src/clock.ts";
import type { Attempt, Execution } from "../src/domain/record.ts";
import type { Tuning } from "../src/engine/settings.ts";
import type { StartOptions } from "../src/engine/start.ts";
import { SagaError } from "../src/errors.ts";
import type { Logger } from "../src/logger.ts";
import type { Store } from "../src/store.ts";
import { memoryStore } from "../stores/memory.ts";
import {
  describeFault,
  distinctPoints,
  FAULT_KINDS,
  type FaultKind,
  faultsAt,
  type PlannedFault,
  sampled,
  withoutSameCrashes,
} from "./crash_everywhere/faults.ts";
import { Judge } from "./crash_everywhere/judge.ts";
import { CrashEverywhereError, type CrashReport, Findings, reportOf } from "./crash_everywhere/report.ts";
import { type CrashSignal, type Ran, runOnce, type RunSetup } from "./crash_everywhere/run.ts";

export type { FaultKind } from "./crash_everywhere/faults.ts";
export type { ProblemKind } from "./crash_everywhere/judge.ts";
export { CrashEverywhereError, type CrashFinding, type CrashReport } from "./crash_everywhere/report.ts";
export type { CrashSignal } from "./crash_everywhere/run.ts";

/** How to crash a saga or a workflow everywhere. */
export interface CrashOptions<Input, Resources> {
  /** What each run is started with. */
  readonly input: Input;
  /**
   * Makes what the code is handed, afresh for each run: the services with their effects, which outlive the
   * processes that crash. Code that has to wait does so on the clock. Points are put around their functions, too.
   */
  readonly resources?: (world: CrashWorld) => Resources | Promise<Resources>;
  /**
   * The effects that stand at the end of a run, undone ones left out: a list, or an object of lists and amounts. It must
   * come out the same whatever crashes.
   */
  readonly ledger?: (resources: Resources) => unknown;
  /** Looks at a run itself, beside the ledger or instead of it, and throws if something is wrong. */
  readonly check?: (run: CrashRun<Resources>) => unknown;
  /** What a workflow calls: the definitions of its `flow.call()`. */
  readonly definitions?: readonly AnyDefinition[];
  /** Signals that it waits for. */
  readonly signals?: readonly CrashSignal[];
  /** How each run is started beyond its input. */
  readonly start?: Pick<StartOptions<Input>, "activeKey" | "partition" | "resource">;
  /** Makes a store for each run: a memory store if not given. Transactional steps need one with SQL. */
  readonly store?: (clock: Clock) => Store | Promise<Store>;
  /** Kinds of faults: all if not given. */
  readonly kinds?: readonly FaultKind[];
  /** Whether two faults are tried as well as one; a number tries so many pairs, evenly spread. True if not given. */
  readonly pairs?: boolean | number;
  /** How the engines behave, and where they log. */
  readonly engine?: Tuning & { readonly logger?: Logger };
  /** Virtual time in which a run must end: a week if not given. */
  readonly within?: Duration;
  /** Accepts that a run ends blocked, or with its compensation failed, for a person to look at. */
  readonly mayNeedPerson?: boolean;
}

/** What outlives the processes of a run. */
export interface CrashWorld {
  /** The clock of the run. */
  readonly clock: Clock;
}

/** A run that has ended. */
export interface CrashRun<Resources> {
  /** How it ended. */
  readonly execution: Execution;
  /** Its attempts, in the order in which they ended. */
  readonly attempts: readonly Attempt[];
  /** The executions that it has called, and those that these have called. */
  readonly children: readonly Pick<CrashRun<never>, "execution" | "attempts">[];
  /** What the steps were handed, without points. */
  readonly resources: Resources;
  /** What went wrong on purpose: `crash at step.charge.run#1:after`; empty for the run without faults. */
  readonly faults: readonly string[];
  /** The points that were passed, process by process. */
  readonly passed: readonly (readonly string[])[];
}

/** The `resources` are required where the definition needs any. */
export type CrashOptionsOf<D extends AnyDefinition, Resources> =
  & CrashOptions<InputOf<D>, Resources>
  & (keyof ResourcesOf<D> extends never ? unknown
    : { readonly resources: (world: CrashWorld) => Resources | Promise<Resources> });

const KEYS = [
  "input",
  "resources",
  "ledger",
  "check",
  "definitions",
  "signals",
  "start",
  "store",
  "kinds",
  "pairs",
  "engine",
  "within",
  "mayNeedPerson",
] as const satisfies readonly (keyof CrashOptions<unknown, unknown>)[];

const DEFAULT_WITHIN = "7d";

/**
 * Runs a saga or a workflow once without faults, and then once for each fault that can occur: the process dies at a point, a call is
 * refused there, or its answer is lost, before and after every call to the store, the exchange, the resources and the
 * code of its steps. Then once for each pair of faults, of crashes that leave the same behind only one. A process that died is
 * followed by another one, which takes over when the lease has ended. Time is virtual: a run takes a few milliseconds.
 *
 * In each run the effects must be the same as without faults. Where the faults have used up the tries or the time of a
 * step, it may turn back, or take another way around: then they must be those of a run in which just this step is refused. What differs is an
 * effect that was lost or doubled, or an undo that is missing. Two faults are tried once every single one passes.
 *
 * A step passes if it takes effect once for its `key`, however often it runs; an undo if it can be repeated.
 *
 * @throws {CrashEverywhereError} with a report that names the simplest faults, the step, the difference, and what to do
 * @throws {SagaError} `invalid_options`, also if the run without faults does not end
 *
 * @example A shop that honours keys, and one that does not
 * ```ts
 * import { saga } from "@leveret/saga";
 * import { crashEverywhere, CrashEverywhereError, type Shop, shop } from "@leveret/saga/testing";
 * import assert from "node:assert/strict";
 *
 * const order = saga<{ cents: number }, { bank: Shop }>("order").step("charge", {
 *   run: ({ context, resources, key }) => ({ receipt: resources.bank.perform(key, `charge ${context.cents}`) }),
 *   undo: ({ resources, stepKey }) => resources.bank.takeBack(stepKey),
 *   undoOnFailure: true,
 * });
 * const input = { cents: 500 };
 * const ledger = ({ bank }: { bank: Shop }) => bank.standing.map(({ what }) => what);
 *
 * const report = await crashEverywhere(order, { input, resources: () => ({ bank: shop() }), ledger });
 * console.log(String(report)); // Saga "order" ends completed whatever crashes: 0 lost, 0 doubled, …
 *
 * const forgetful = () => ({ bank: shop({ honoursKeys: false }) });
 * await assert.rejects(crashEverywhere(order, { input, resources: forgetful, ledger }), (error) => {
 *   assert(error instanceof CrashEverywhereError);
 *   assert.deepEqual(error.report.findings[0]?.suspects, ["step.charge.run"]);
 *   return true;
 * });
 * ```
 *
 * @example A workflow with a parallel, a signal, and a call of another definition
 * ```ts
 * import { type Flow, workflow } from "@leveret/saga";
 * import { crashEverywhere, type Shop, shop } from "@leveret/saga/testing";
 * import assert from "node:assert/strict";
 *
 * type Services = { office: Shop };
 * const undo = ({ resources, stepKey }: { resources: Services; stepKey: string }) => resources.office.takeBack(stepKey);
 *
 * const desk = workflow("desk.prepare", async (flow: Flow<Services>, { who }: { who: string }) => {
 *   await flow.step("desk", ({ key, resources }) => resources.office.perform(key, `desk of ${who}`), { undo });
 * });
 * const onboard = workflow("users.onboard", async (flow: Flow<Services>, { who }: { who: string }) => {
 *   await flow.parallel("accounts", (parallel) => ({
 *     mail: parallel.step(({ key, resources }) => resources.office.perform(key, `mail of ${who}`), { undo }),
 *     chat: parallel.step(({ key, resources }) => resources.office.perform(key, `chat of ${who}`), { undo }),
 *   }));
 *   await flow.waitFor("signed", { timeout: "30d" });
 *   await flow.call(desk, { who });
 * });
 *
 * const report = await crashEverywhere(onboard, {
 *   input: { who: "ada" },
 *   definitions: [desk],
 *   signals: [{ name: "signed" }],
 *   resources: () => ({ office: shop() }),
 *   ledger: ({ office }) => office.standing.map(({ what }) => what),
 *   pairs: 100,
 * });
 * assert.equal(report.end, "completed");
 * ```
 */
export async function crashEverywhere<const D extends AnyDefinition, Resources extends ResourcesOf<D> = ResourcesOf<D>>(
  definition: D,
  options: CrashOptionsOf<D, Resources>,
): Promise<CrashReport> {
  const place: Place = {
    code: "invalid_options",
    action: `crash ${definition.kind} "${definition.name}"`,
    path: "options",
  };
  const checked = checkOptions(place, options);
  const setup = setupOf(definition, options, checked.withinMs);
  const clean = await runOnce(setup);
  refuseEndless(place, clean);
  const judge = new Judge(setup, clean, { mayNeedPerson: options.mayNeedPerson === true });
  const findings = new Findings();
  const look = async (ran: Ran) => {
    for (const problem of [...await judge.problemsOf(ran), ...await checkFails(options, ran)]) {
      findings.add(problem, ran.faults, judge.suspectsOf(ran));
    }
    return ran;
  };
  await look(clean);
  const points = distinctPoints(clean.passed[0] ?? []);
  const seconds: (readonly PlannedFault[])[] = [];
  const singles = faultsAt(points, 0, checked.kinds);
  const firsts = new Set(withoutSameCrashes(singles, points));
  for (const fault of singles) {
    const ran = await look(await runOnce(setup, { faults: [fault] }));
    if (checked.pairs > 0 && firsts.has(fault)) seconds.push(...followedBy(ran, fault, checked.kinds));
  }
  const pairs = findings.all.length > 0 ? [] : sampled(seconds, checked.pairs);
  for (const faults of pairs) await look(await runOnce(setup, { faults }));
  const report = reportOf({
    saga: definition.name,
    kind: definition.kind,
    end: clean.record?.execution.status ?? "",
    points,
    singles: singles.length,
    pairs: pairs.length,
    possiblePairs: seconds.length,
    runs: 1 + singles.length + pairs.length,
  }, findings);
  if (report.findings.length > 0) throw new CrashEverywhereError(report);
  return report;
}

/** The pairs that begin with a fault: each that can occur after it, in the process that lives on. */
function followedBy(ran: Ran, first: PlannedFault, kinds: readonly FaultKind[]): (readonly PlannedFault[])[] {
  const process = first.kind === "crash" ? 1 : 0;
  const passed = ran.passed[process] ?? [];
  const later = process === 1 ? passed : passed.slice(passed.indexOf(first.point) + 1);
  const points = distinctPoints(later);
  return withoutSameCrashes(faultsAt(points, process, kinds), points).map((second) => [first, second]);
}

async function checkFails<Resources>(
  { check }: Pick<CrashOptions<unknown, Resources>, "check">,
  ran: Ran,
): Promise<readonly { readonly kind: "check"; readonly details: readonly string[] }[]> {
  if (check === undefined || ran.record === null) return [];
  const { attempts, execution } = ran.record;
  try {
    const resources = ran.resources as Resources;
    await check({
      execution,
      attempts,
      children: ran.children,
      resources,
      faults: ran.faults.map(describeFault),
      passed: ran.passed,
    });
    return [];
  } catch (error) {
    return [{ kind: "check", details: [error instanceof Error ? error.message : String(error)] }];
  }
}

function setupOf<D extends AnyDefinition, Resources>(
  definition: D,
  options: CrashOptions<InputOf<D>, Resources>,
  withinMs: number,
): RunSetup {
  return {
    definition,
    called: options.definitions ?? [],
    input: options.input,
    start: options.start ?? {},
    resources: options.resources ?? (() => ({})),
    ledger: options.ledger ?? (() => undefined),
    signals: options.signals ?? [],
    store: options.store ?? ((clock) => memoryStore({ clock })),
    tuning: options.engine ?? {},
    withinMs,
  };
}

interface Checked {
  readonly kinds: readonly FaultKind[];
  readonly pairs: number;
  readonly withinMs: number;
}

function checkOptions(place: Place, options: unknown): Checked {
  const { check, definitions, kinds, ledger, pairs, within } = optionsAt(place, options, KEYS);
  if (definitions !== undefined && !Array.isArray(definitions)) {
    throw refusal({ ...place, path: "options.definitions" }, definitions, "use a list of definitions");
  }
  if (typeof check !== "function" && typeof ledger !== "function") {
    throw refusal({ ...place, path: "options.ledger" }, ledger, "give a ledger, a check, or both");
  }
  if (kinds !== undefined && !(Array.isArray(kinds) && kinds.every((kind) => FAULT_KINDS.includes(kind)))) {
    throw refusal({ ...place, path: "options.kinds" }, kinds, `use a list of ${FAULT_KINDS.join(", ")}`);
  }
  const count = typeof pairs === "number"
    ? wholeNumberAt({ ...place, path: "options.pairs" }, pairs, { min: 0, max: 10_000_000 })
    : pairs === false
    ? 0
    : Infinity;
  return {
    kinds: kinds as readonly FaultKind[] | undefined ?? FAULT_KINDS,
    pairs: count,
    withinMs: durationMs(within ?? DEFAULT_WITHIN, { ...place, path: "options.within" }, { minMs: 1 }),
  };
}

function refuseEndless(place: Place, clean: Ran): void {
  if (clean.end === "finished" || clean.end === "blocked") return;
  const why = clean.end === "refused"
    ? `without a fault it is refused: ${clean.error instanceof Error ? clean.error.message : String(clean.error)}`
    : `without a fault it stands at "${clean.record?.execution.currentStep}"; ` +
      "give the signals that it waits for, or more time as within";
  throw new SagaError("invalid_options", `Cannot ${place.action}: ${why}`, { cause: clean.error ?? undefined });
}
