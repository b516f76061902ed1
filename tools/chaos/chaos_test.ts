import assert from "node:assert/strict";
import { hasBroker } from "../../exchanges/fixtures/broker.ts";
import { withMysql } from "../../stores/fixtures/mysql.ts";
import { withPostgres } from "../../stores/fixtures/postgres.ts";
import { chaos, type ChaosOptions } from "./chaos.ts";

/** Short, and at the machine's broker: `deno task chaos` shows the rest. */
const OPTIONS: Omit<ChaosOptions, "store" | "exchange"> = {
  broker: "shared",
  seconds: 12,
  seed: 1,
  processes: 4,
  startsPerSecond: 10,
  turnedDown: 0.3,
  failing: 0.02,
};

async function assertChaosBreaksNothing(options: Pick<ChaosOptions, "store" | "exchange">): Promise<void> {
  const report = await chaos({ ...OPTIONS, ...options });
  assert.deepEqual(report.broken, [], JSON.stringify(report));
  assert.equal(report.executions, 120);
  assert.ok(report.abandoned > 0, "no fault hit a step");
}

const isThere = await hasBroker("chaos with RabbitMQ");

withPostgres("chaos on PostgreSQL", () => {
  Deno.test("chaos on PostgreSQL alone breaks no promise", async () => {
    await assertChaosBreaksNothing({ store: "postgres", exchange: "local" });
  });
  if (isThere) {
    Deno.test("chaos on PostgreSQL with RabbitMQ breaks no promise", async () => {
      await assertChaosBreaksNothing({ store: "postgres", exchange: "amqp" });
    });
  }
});

withMysql("chaos on MySQL", () => {
  if (isThere) {
    Deno.test("chaos on MySQL or MariaDB with RabbitMQ breaks no promise", async () => {
      await assertChaosBreaksNothing({ store: "mysql", exchange: "amqp" });
    });
  }
});
