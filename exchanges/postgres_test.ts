import { pause, systemClock } from "../src/clock.ts";
import type { Exchange, Hint } from "../src/exchange.ts";
import { POSTGRES_URL, withPostgres } from "../stores/fixtures/postgres.ts";
import { exchangeConformance } from "../testing/exchange_conformance.ts";
import { until } from "./fixtures/until.ts";
import { postgresExchange } from "./postgres.ts";

/** A channel of a test's own. */
function freshChannel(): string {
  return `leveret_${crypto.randomUUID().slice(0, 8)}`;
}

/**
 * Two processes: what is published in one is consumed in the other. A worker takes no more hints than it has room for, so
 * those that it does not take are published again until it does, as a sweep would.
 */
function apart(): Exchange {
  const channel = freshChannel();
  const [here, there] = [1, 2].map(() => postgresExchange({ url: POSTGRES_URL, channel }));
  const closing = new AbortController();
  const sweeping = new Set<Promise<void>>();
  const sweep = async (hint: Hint) => {
    while (!closing.signal.aborted && (await here!.publish([hint]))[0] !== "sent") {
      await pause(systemClock, 20, closing.signal);
    }
  };
  return {
    kind: "postgres",
    reaches: (partition) => here!.reaches(partition),
    async publish(hints) {
      const answers = await here!.publish(hints);
      return answers.map((answer, at) => {
        if (answer === "sent" || !here!.reaches(hints[at]!.partition)) return answer;
        const swept = sweep(hints[at]!).finally(() => sweeping.delete(swept));
        sweeping.add(swept);
        return "sent";
      });
    },
    async consume(partition, handler, options) {
      await there!.consume(partition, handler, options);
      if (options.signal.aborted) return;
      // Whoever publishes learns of it within a second.
      await until(() => here!.reaches(partition), "it is known that the partition is consumed");
    },
    depth: (partition) => there!.depth(partition),
    async health() {
      const [one, other] = await Promise.all([here!.health(), there!.health()]);
      return one.ok ? other : one;
    },
    async close() {
      closing.abort();
      await Promise.all(sweeping);
      await Promise.all([here!.close(), there!.close()]);
    },
  };
}

const settle = () => new Promise<void>((resolve) => setTimeout(resolve, 30));

withPostgres("the exchange over PostgreSQL", () => {
  exchangeConformance((name, run) => Deno.test(`postgresExchange() ${name}`, run), {
    open: () => postgresExchange({ url: POSTGRES_URL, channel: freshChannel() }),
    keepsHints: false,
    settle,
  });

  exchangeConformance((name, run) => Deno.test(`postgresExchange() to another process ${name}`, run), {
    open: apart,
    keepsHints: false,
    settle,
    skip: {
      "publish() from within a handler goes on and on":
        "its one slot is taken each time, and is offered the next later",
      "reaches() is true while somebody consumes": "that the last one has gone is known after a second",
      "depth() counts what waits and who consumes": "what finds no room waits for a sweep, and nobody counts it",
    },
  });
});
