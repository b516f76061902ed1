import { amqpExchange } from "@leveret/saga/amqp";
import { exchangeConformance } from "@leveret/saga/testing";
import amqplib from "amqplib";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { test } from "node:test";

const url = process.env.LEVERET_AMQP_URL ?? "amqp://guest:guest@127.0.0.1:5672";
const isThere = await amqplib.connect(url, { timeout: 5_000 }).then((one) => one.close()).then(() => true, () => false);

if (!isThere) {
  test("amqpExchange()", { skip: "there is no RabbitMQ: set LEVERET_AMQP_URL" }, () => {});
} else {
  exchangeConformance((name, run) => void test(`amqpExchange() ${name}`, run), {
    keepsHints: true,
    deadlineMs: 30_000,
    settle: () => new Promise((resolve) => setTimeout(resolve, 30)),
    open() {
      const prefix = `leveret-test-${randomUUID().slice(0, 8)}`;
      const exchange = amqpExchange({ url, prefix, queueType: "classic" });
      const partitions = new Set<string>();
      const note = (partition: string) => void partitions.add(partition);
      return {
        kind: exchange.kind,
        reaches: (partition) => exchange.reaches(partition),
        publish(hints) {
          for (const { partition } of hints) note(partition);
          return exchange.publish(hints);
        },
        consume(partition, handler, options) {
          note(partition);
          return exchange.consume(partition, handler, options);
        },
        depth: (partition) => exchange.depth(partition),
        health: () => exchange.health(),
        async close() {
          await exchange.close();
          const queues = [...partitions].map((partition) => `${prefix}.execute.${partition}`);
          await remove(prefix, queues.flatMap((queue) => [queue, `${queue}.retry.1000`, `${queue}.error`]));
        },
      };
    },
  });
}

/** Nothing stays in the broker. */
async function remove(exchange: string, queues: readonly string[]): Promise<void> {
  const connection = await amqplib.connect(url);
  const channel = await connection.createChannel();
  for (const queue of queues) await channel.deleteQueue(queue);
  await channel.deleteExchange(exchange);
  await connection.close();
}
