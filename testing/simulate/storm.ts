/** What happens during a storm at times that are planned beforehand: kills, outages, deploys, operators, and clients. */

import { pause } from "../../src/clock.ts";
import type { Execution, ExecutionRecord } from "../../src/domain/record.ts";
import { isCalling } from "../../src/domain/next.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { isSagaError, type SagaErrorCode } from "../../src/errors.ts";
import { between, pick } from "./dice.ts";
import { changedByHand } from "./changed_definition.ts";
import { type Fleet, makeUsual, type Seat } from "./fleet.ts";
import type { Process } from "./process.ts";
import type { Mending, Scenario, SimulatedSignal, SimulatedStart } from "./scenario.ts";
import type { World } from "./world.ts";

/** Refusals that an operator has to expect. */
const EXPECTED: ReadonlySet<SagaErrorCode> = new Set<SagaErrorCode>([
  "not_found",
  "wrong_state",
  "attempt_open",
  "request_pending",
  "past_pivot",
  "active_key_taken",
  "store_unavailable",
  "closed",
  "unknown_definition",
]);

const CLIENT_PATIENCE_MS = 90_000;
const CLIENT_PAUSE_MS = 5_000;

/** Plans and carries out what is done to a fleet from outside. */
export class Storm {
  readonly #world: World;
  readonly #fleet: Fleet;
  readonly #scenario: Scenario;
  readonly #lengthMs: number;
  readonly #clients = new Set<Promise<void>>();
  readonly #beganAt: number;
  /** Who waits for an execution. */
  readonly #waiters = new Set<{ readonly process: Process }>();
  #asked = 0;

  constructor(world: World, fleet: Fleet, options: { readonly scenario: Scenario; readonly lengthMs: number }) {
    this.#world = world;
    this.#fleet = fleet;
    this.#scenario = options.scenario;
    this.#lengthMs = options.lengthMs;
    this.#beganAt = world.clock.now();
  }

  /** Clients that have not been served yet. */
  get waitingClients(): number {
    return this.#clients.size;
  }

  /** Whether those who wait for executions have been told what they wait for, as far as they are alive. */
  get areWaitersServed(): boolean {
    return [...this.#waiters].every((waiter) => waiter.process.isDead);
  }

  /** Sets a timer for everything that is to happen. */
  begin(): void {
    const { faults } = this.#world;
    for (const start of this.#scenario.starts) this.#planStart(start);
    for (const [index, signal] of (this.#scenario.signals ?? []).entries()) this.#planSignal(signal, index);
    this.#plan("kill", faults.kills, (random) => {
      const seat = pick(random, this.#fleet.seats);
      this.#world.note(seat.process.name, () => "is killed");
      this.#fleet.kill(seat.process);
    });
    this.#plan("freeze", faults.freezes, (random) => {
      const { process } = pick(random, this.#fleet.seats);
      const ms = between(random, 1_000, 300_000);
      this.#world.note(process.name, () => `is frozen for ${ms} ms`);
      this.#fleet.freeze(process, ms);
    });
    this.#plan("stop", faults.stops, (random) => this.#stop(pick(random, this.#fleet.workers), random));
    this.#plan("clock", faults.clockJumps, (random) => {
      const { process } = pick(random, this.#fleet.seats);
      const skewMs = between(random, -600_000, 600_000);
      this.#world.note(process.name, () => `has its clock set, ${skewMs} ms off`);
      process.skew(skewMs);
    });
    this.#plan("outage", faults.outages, (random) => {
      const ms = between(random, 1_000, 120_000);
      this.#world.note("store", () => `answers nobody for ${ms} ms`);
      this.#world.storeOutUntil = this.#world.clock.now() + ms;
    });
    this.#plan("broker outage", faults.brokerOutages, (random) => {
      const ms = between(random, 1_000, 300_000);
      this.#world.note("broker", () => `takes no hints for ${ms} ms`);
      this.#world.brokerOutUntil = this.#world.clock.now() + ms;
    });
    this.#plan("deploy", faults.deploys, (random) => this.#deploy(random));
    this.#plan("bad deploy", faults.badDeploys, (random) => {
      const seat = pick(random, this.#fleet.workers);
      this.#world.arePlansKept = false;
      seat.change = (definition) => changedByHand(definition, this.#world.dice.stream(`${definition.name} changed`));
      this.#replaceFor(seat, between(random, 10_000, this.#lengthMs));
    });
    this.#plan("operator", faults.operators, (random) => {
      // What was started, or anything that is there: what it has called, too.
      const { id } = pick(random, this.#scenario.starts);
      const ids = random() < 0.5 ? [id] : [...this.#world.truth.keys(), id];
      this.#operate(pick(random, ids), pick(random, ACTIONS), random);
    });
    this.#world.onWrite = (before, after) => this.#signalJustInTime(before, after);
    this.#fleet.watch.onEnter = (process, executionId, name) => this.#ambush(process, executionId, `ambush ${name}`);
  }

  /** A person mends an execution. */
  mend(id: string, mending: Mending): void {
    this.#world.note("operator", () => `${mending} ${id}`);
    this.#insist(`${mending} ${id}`, (engine) => carryOut(engine, id, mending), EXPECTED);
  }

  /** A person sends a signal that somebody waits for. */
  signal(executionId: string, name: string): void {
    this.#insist(`signal ${executionId}`, (engine) => engine.signal(executionId, name, null), EXPECTED);
  }

  #plan(kind: string, count: number, act: (random: () => number) => void): void {
    for (let index = 1; index <= count; index++) {
      const name = `${kind} ${index}`;
      const random = this.#world.dice.stream(name);
      const at = between(random, 1, this.#lengthMs);
      this.#world.clock.setTimer(at, () => {
        if (!this.#world.dice.isCalm && this.#world.dice.allows(name)) act(random);
      });
    }
  }

  #planStart(start: SimulatedStart): void {
    const { dice } = this.#world;
    if (!dice.allows(`start ${start.id}`)) return;
    const after = start.after ?? Math.floor(dice.roll(`${start.id} after`) * this.#lengthMs / 2);
    const delay = start.delayMs === undefined ? {} : { at: this.#beganAt + after + start.delayMs };
    const options = {
      id: start.id,
      input: start.input,
      ...(start.activeKey === undefined ? {} : { activeKey: start.activeKey }),
      ...(start.partition === undefined ? {} : { partition: start.partition }),
      ...delay,
    };
    const ask = async (engine: Engine) => {
      const { execution, created } = await engine.start(start.definition, options as never);
      this.#wait(engine, execution.id);
      this.#world.note("client", () => `start ${start.id}: ${created ? "created" : `not created: ${execution.id}`}`);
    };
    this.#promise(after, () => {
      this.#insist(`start ${start.id}`, ask, new Set());
      if (dice.happens(`start ${start.id} twice`, 0.2)) this.#insist(`start ${start.id} again`, ask, new Set());
    });
  }

  #wait(engine: Engine, id: string): void {
    const process = this.#fleet.seats.find((seat) => seat.engine === engine)?.process;
    if (process === undefined || this.#world.dice.roll(`wait for ${id}`) < 0.5) return;
    const waiter = { process };
    this.#waiters.add(waiter);
    engine.wait(id, { throughBlocked: true }).then(({ status }) => {
      this.#world.note("client", () => `is told that ${id} is ${status}`);
    }, (error: unknown) => {
      if (!isSagaError(error, "closed")) this.#world.report(`waiting for ${id} is answered: ${String(error)}`);
    }).finally(() => this.#waiters.delete(waiter));
  }

  #planSignal(signal: SimulatedSignal, index: number): void {
    const { dice } = this.#world;
    if (!dice.allows(`signal ${index} ${signal.executionId}`)) return;
    const options = signal.signalId === undefined ? {} : { signalId: signal.signalId };
    this.#promise(signal.after, () =>
      this.#insist(`signal ${signal.name} to ${signal.executionId}`, async (engine) => {
        const isNew = await engine.signal(signal.executionId, signal.name, signal.payload ?? null, options);
        this.#world.note(
          "client",
          () => `signal ${signal.name} to ${signal.executionId}: ${isNew ? "sent" : "known"}`,
        );
      }, new Set<SagaErrorCode>(["wrong_state", "not_found"])));
  }

  /** Counts as a client from now on, though it acts later. */
  #promise(after: number, act: () => void): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#clients.add(promise);
    this.#world.clock.setTimer(after, () => {
      act();
      resolve();
      this.#clients.delete(promise);
    });
  }

  /** A client asks until it is answered: by the store's leave, or with a refusal that it has to accept. */
  #insist(what: string, ask: (engine: Engine) => Promise<unknown>, expected: ReadonlySet<SagaErrorCode>): void {
    const asking = this.#ask(what, ask, expected).finally(() => this.#clients.delete(asking));
    this.#clients.add(asking);
  }

  async #ask(
    what: string,
    ask: (engine: Engine) => Promise<unknown>,
    expected: ReadonlySet<SagaErrorCode>,
  ): Promise<void> {
    const { clock } = this.#world;
    for (;;) {
      const answer = await this.#within(CLIENT_PATIENCE_MS, ask(this.#seatFor(`${what} ${++this.#asked}`).engine));
      if (answer.kind === "ok") return;
      if (answer.kind === "error" && !isSagaError(answer.error, "store_unavailable")) {
        this.#world.note("client", () => `${what}: ${answer.error}`);
        if (isSagaError(answer.error) && expected.has(answer.error.code)) return;
        // An engine that was closed has another one in its place soon; one without the definition is not asked again.
        const isElsewhere = isSagaError(answer.error, "closed") || isSagaError(answer.error, "unknown_definition");
        if (!isElsewhere) return this.#world.report(`${what}: ${String(answer.error)}`);
      }
      await pause(clock, CLIENT_PAUSE_MS);
    }
  }

  /** Clients talk to the web process, or to a process that is a worker as well. */
  #seatFor(name: string): Seat {
    const random = this.#world.dice.stream(name);
    return random() < 0.5 ? this.#fleet.web : pick(random, this.#fleet.seats);
  }

  #within(
    ms: number,
    asked: Promise<unknown>,
  ): Promise<{ readonly kind: "ok" | "late" } | { readonly kind: "error"; readonly error: unknown }> {
    return new Promise((resolve) => {
      const cancel = this.#world.clock.setTimer(ms, () => resolve({ kind: "late" }));
      asked.then(() => resolve({ kind: "ok" }), (error: unknown) => resolve({ kind: "error", error })).finally(cancel);
    });
  }

  #stop(seat: Seat, random: () => number): void {
    const deadlineMs = pick(random, [0, 100, 2_000, 20_000]);
    this.#world.note(seat.process.name, () => `is told to stop within ${deadlineMs} ms`);
    seat.process.enter(() => void this.#fleet.stop(seat, deadlineMs));
  }

  #deploy(random: () => number): void {
    const { definitions } = this.#scenario;
    const isEverywhere = random() < 0.4;
    const lacks = definitions.filter(() => random() < 0.6).slice(0, definitions.length - 1);
    if (lacks.length === 0) return;
    const seats = isEverywhere ? this.#fleet.workers : [pick(random, this.#fleet.workers)];
    const ms = between(random, isEverywhere ? this.#lengthMs : 10_000, this.#lengthMs);
    for (const seat of seats) {
      seat.lacks = lacks;
      this.#replaceFor(seat, ms);
    }
  }

  /** For a time another process has the seat. */
  #replaceFor(seat: Seat, ms: number): void {
    this.#fleet.kill(seat.process);
    this.#world.clock.setTimer(ms, () => {
      if (this.#world.dice.isCalm) return;
      makeUsual(seat);
      this.#fleet.kill(seat.process);
    });
  }

  /** A signal arrives about when the wait for it ends: within a millisecond, or while somebody may be writing that. */
  #signalJustInTime(before: ExecutionRecord | null, { execution }: ExecutionRecord): void {
    const { id, dueAt, epoch } = execution;
    const waitingFor = execution.waitingFor?.split("\n")[0] ?? null;
    if (
      waitingFor === null || isCalling(execution) || dueAt === null ||
      before?.execution.waitingFor === execution.waitingFor
    ) return;
    const { clock, dice, faults } = this.#world;
    const name = `just in time ${id} ${waitingFor} ${epoch}`;
    if (!dice.happens(name, faults.ambushes)) return;
    const random = dice.stream(name);
    const earlyMs = random() < 0.5 ? pick(random, [-1, 0, 0, 1]) : between(random, -10_000, 300);
    const delayMs = Math.max(0, dueAt - clock.now() - earlyMs);
    clock.setTimer(delayMs, () => {
      if (!dice.isCalm) this.#operate(id, { signal: waitingFor }, dice.stream(`${name} signal`));
    });
  }

  /** Something happens just while the code of a step runs. */
  #ambush(process: Process, executionId: string, name: string): void {
    const { clock, dice, faults } = this.#world;
    if (!dice.happens(name, faults.ambushes)) return;
    const random = dice.stream(name);
    const what = pick(random, ["kill", "freeze", "operator", "operator", "hint"] as const);
    clock.setTimer(pick(random, [0, 1, 300, 3_000]), () => {
      switch (what) {
        case "kill":
          this.#world.note(process.name, () => "is killed");
          return this.#fleet.kill(process);
        case "freeze": {
          const ms = between(random, 1_000, 60_000);
          this.#world.note(process.name, () => `is frozen for ${ms} ms`);
          return this.#fleet.freeze(process, ms);
        }
        case "operator":
          return this.#operate(executionId, pick(random, ACTIONS), random);
        case "hint":
          return this.#operate(executionId, "dispatch", random);
        default:
          return what satisfies never;
      }
    });
  }

  #operate(id: string, action: Action, random: () => number): void {
    const { engine, process } = random() < 0.5 ? this.#fleet.web : pick(random, this.#fleet.seats);
    const what = typeof action === "object" ? `signal ${action.signal} to` : action;
    this.#world.note("operator", () => `asks ${process.name} to ${what} ${id}`);
    process.enter(() => {
      carryOut(engine, id, action).then(
        (result) => this.#world.note("operator", () => `${what} ${id}: ${result}`),
        (error: unknown) => {
          this.#world.note("operator", () => `${what} ${id}: ${String(error)}`);
          if (isSagaError(error) && EXPECTED.has(error.code)) return;
          this.#world.report(`the operator's ${what} of ${id} is answered: ${String(error)}`);
        },
      );
    });
  }
}

type Action = Mending | "rerun" | "resume_stuck" | "dispatch" | "look" | "cut" | { readonly signal: string };

const ACTIONS: readonly Action[] = [
  ...["retry", "retry", "compensate", "compensate", "compensate", "skip_step", "terminate"] as const,
  ...["rerun", "resume_stuck", "dispatch", "look", "cut", "cut"] as const,
];

/** Carries it out and says in short what came of it. */
async function carryOut(engine: Engine, id: string, action: Action): Promise<string> {
  const by = { actor: "ada", reason: "in a simulation" };
  if (typeof action === "object") return await engine.signal(id, action.signal) ? "sent" : "known";
  switch (action) {
    case "retry":
      return outcomeOf(await engine.retry(id, by));
    case "compensate":
      return outcomeOf(await engine.compensate(id, by));
    case "skip_step":
      return outcomeOf(await engine.skipStep(id, by));
    case "terminate":
      return outcomeOf(await engine.terminate(id, by));
    case "rerun":
      return `as ${(await engine.rerun(id, by)).execution.id}`;
    case "cut":
      await engine.terminate(id, by);
      return outcomeOf(await (Number(id.at(-1)) % 2 === 0 ? engine.compensate(id, by) : engine.retry(id, by)));
    case "look": {
      await Promise.all([engine.attempts(id), engine.signals(id), engine.compensationPlan(id), engine.health()]);
      return (await engine.explain(id)).sentence;
    }
    case "dispatch":
      await engine.dispatch(id);
      return "done";
    case "resume_stuck": {
      const { resumed, givenUp } = await engine.resumeStuck({ olderThan: "10s", giveUp: "compensate", maxResumes: 2 });
      return `resumed ${resumed.length}, gave up ${givenUp.length}`;
    }
    default:
      return action satisfies never;
  }
}

function outcomeOf({ status, epoch }: Execution): string {
  return `${status}, epoch ${epoch}`;
}
