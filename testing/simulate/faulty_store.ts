/** The store as one process reaches it: calls get lost, late or refused, and the process may end in the middle of one. */

import { SagaError } from "../../src/errors.ts";
import type { Store } from "../../src/store.ts";
import { between, pick } from "./dice.ts";
import { never, type Process } from "./process.ts";
import type { World } from "./world.ts";

/** What the store needs to do to a process. */
export interface Fates {
  /** The process ends here. */
  kill(process: Process): void;
  /** The process stands still for a time. */
  freeze(process: Process, ms: number): void;
}

const MAX_FREEZE_MS = 300_000;
/** More calls at one instant are a loop. */
const MAX_CALLS_AT_ONCE = 5_000;

/** `store` as `process` reaches it. */
export function faultyStore(store: Store, process: Process, options: { world: World; fates: Fates }): Store {
  const { world, fates } = options;
  const { dice, faults } = world;

  function call<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (process.isDead) return never();
    const id = `${process.name} ${name} #${process.nextCall()}`;
    // Time does not move in such a loop, and the run would have no end.
    if (world.countCall() > MAX_CALLS_AT_ONCE) {
      world.report(`the store is asked over and over at the same time, by ${process.name} to ${name}`);
      return never();
    }
    if (world.clock.now() < world.storeOutUntil) return process.inside(refused(id));
    // One look for all: most calls have nothing to fear.
    if (dice.isCalm || dice.roll(id) >= riskOf()) return process.inside(work());
    return unlucky(id, work);
  }

  function riskOf(): number {
    const { refusedCalls, lostAnswers, slowCalls, killedCalls, frozenCalls } = faults;
    return refusedCalls + lostAnswers + slowCalls + killedCalls + frozenCalls;
  }

  function unlucky<T>(id: string, work: () => Promise<T>): Promise<T> {
    if (!dice.allows(id)) return process.inside(work());
    const random = dice.stream(id);
    let left = random() * riskOf();
    const isNext = (share: number) => (left -= share) < 0;
    const isBefore = random() < 0.5;
    if (isNext(faults.refusedCalls)) {
      world.note(process.name, () => `${id} is refused`);
      return process.inside(refused(id));
    }
    if (isNext(faults.lostAnswers)) {
      world.note(process.name, () => `${id} is carried out, its answer is lost`);
      return process.inside(work().then(() => refused<T>(id)));
    }
    if (isNext(faults.killedCalls)) {
      world.note(process.name, () => `is killed ${isBefore ? "before" : "after"} ${id}`);
      if (!isBefore) void work().catch(() => {});
      fates.kill(process);
      return never();
    }
    if (isNext(faults.frozenCalls)) {
      const ms = between(random, 1_000, MAX_FREEZE_MS);
      world.note(process.name, () => `is frozen for ${ms} ms ${isBefore ? "before" : "after"} ${id}`);
      const answer = isBefore ? later(ms, work) : work();
      fates.freeze(process, ms);
      return process.inside(answer);
    }
    const ms = pick(random, [5, 50, 500, 5_000, 20_000, 60_000]);
    world.note(process.name, () => `${id} takes ${ms} ms ${isBefore ? "to get there" : "to answer"}`);
    if (isBefore) return process.inside(later(ms, work));
    return process.inside(work().then((answer) => later(ms, () => Promise.resolve(answer))));
  }

  function later<T>(ms: number, work: () => Promise<T>): Promise<T> {
    world.callsUnderWay++;
    return new Promise((resolve) =>
      world.clock.setTimer(ms, () => {
        world.callsUnderWay--;
        resolve(work());
      })
    );
  }

  /** A database gives up on a connection at whose other end nobody is any more, and rolls back. */
  function connected<T>(body: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = process.onGone(() => {
        world.note(process.name, () => "loses the connection of its transaction");
        reject(unavailable("a transaction whose connection was lost"));
      });
      body.then(resolve, reject).finally(stop);
    });
  }

  return {
    kind: store.kind,
    transactional: store.transactional,
    insert: (executions, tx) => call("insert", () => store.insert(executions, tx)),
    load: (ids) => call("load", () => store.load(ids)),
    status: (ids) => call("status", () => store.status(ids)),
    versionsInUse: () => call("versionsInUse", () => store.versionsInUse()),
    unfinished: (options) => call("unfinished", () => store.unfinished(options)),
    operations: (id) => call("operations", () => store.operations(id)),
    commit: (changes) => call("commit", () => store.commit(changes)),
    renew: (leases) => call("renew", () => store.renew(leases)),
    claimDue: (claim) => call("claimDue", () => store.claimDue(claim)),
    nextWake: (filter) => call("nextWake", () => store.nextWake(filter)),
    touch: (ids, now) => call("touch", () => store.touch(ids, now)),
    signal: (signal) => call("signal", () => store.signal(signal)),
    transaction: (body) => call("transaction", () => store.transaction((transaction) => connected(body(transaction)))),
    workers: {
      announce: (worker) => call("announce", () => store.workers.announce(worker)),
      retire: (id, now) => call("retire", () => store.workers.retire(id, now)),
      list: (now) => call("list", () => store.workers.list(now)),
      unserved: (unserved) => call("unserved", () => store.workers.unserved(unserved)),
    },
    prune: (prune) => call("prune", () => store.prune(prune)),
    now: () => call("now", () => store.now()),
    migrate: (options) => call("migrate", () => store.migrate(options)),
    close: () => call("close", () => store.close()),
  };
}

function refused<T>(id: string): Promise<T> {
  return Promise.reject(unavailable(id));
}

function unavailable(what: string): SagaError {
  return new SagaError("store_unavailable", `Cannot reach the store: the simulation refuses ${what}`);
}
