/** An exchange whose calls pass through points. */

import type { Exchange, PublishAnswer } from "../../src/exchange.ts";
import { FaultInjected, never, type Points } from "./points.ts";

/**
 * The exchange as one process sees it. `publish` never rejects: a fault `throw` before it loses the hints, one after it
 * only their confirms, and both answer "unreached". A depth that cannot be told is null.
 */
export function exchangeThrough(points: Points, exchange: Exchange): Exchange {
  const through = <T>(call: string, work: () => Promise<T>, lost: () => T): Promise<T> =>
    points.around(`exchange.${call}`, work, injected).catch((error) => {
      if (error instanceof FaultInjected) return lost();
      throw error;
    });
  return {
    kind: exchange.kind,
    reaches: (partition) => exchange.reaches(partition),
    publish: (hints) =>
      through(
        "publish",
        () => exchange.publish(hints),
        (): readonly PublishAnswer[] => hints.map(() => "unreached"),
      ),
    consume: (partition, handler, { concurrency, signal }) =>
      points.around("exchange.consume", () =>
        exchange.consume(
          partition,
          async (hint, ending) => points.isDead ? await never() : await handler(hint, ending),
          { concurrency, signal: endedByDeath(points, signal) },
        ), injected),
    depth: (partition) => through("depth", () => exchange.depth(partition), () => null),
    health: () => exchange.health(),
    close: () => points.isDead ? never() : exchange.close(),
  };
}

function endedByDeath(points: Points, signal: AbortSignal): AbortSignal {
  const ending = new AbortController();
  const end = () => {
    callOff();
    signal.removeEventListener("abort", end);
    ending.abort(signal.reason ?? "the process died");
  };
  const callOff = points.onDeath(end);
  if (signal.aborted || points.isDead) end();
  else signal.addEventListener("abort", end, { once: true });
  return ending.signal;
}

function injected(point: string): FaultInjected {
  return new FaultInjected(`Lost by the fault at ${point}`);
}
