import assert from "node:assert/strict";
import type { ConsumeMessage } from "amqplib";
import { type Acknowledging, Receipts } from "./receipts.ts";

/** Messages that were delivered in order, and what is sent for them: a tag, and whether it stands for all older ones. */
function delivered(count: number) {
  const sent: string[] = [];
  const channel: Acknowledging = {
    ack: ({ fields }, allUpTo) =>
      void sent.push(allUpTo === true ? `up to ${fields.deliveryTag}` : `${fields.deliveryTag}`),
  };
  const receipts = new Receipts(channel);
  const messages = Array.from({ length: count }, (_, at) => ({ fields: { deliveryTag: at + 1 } }) as ConsumeMessage);
  for (const message of messages) receipts.take(message);
  return {
    receipts,
    sent,
    acknowledge: (...tags: number[]) => tags.forEach((tag) => receipts.acknowledge(messages[tag - 1]!)),
  };
}

Deno.test("Receipts acknowledge in one frame what is done with at once, if nothing older is open", async () => {
  const { acknowledge, sent } = delivered(5);
  acknowledge(2, 1, 3);
  assert.deepEqual(sent, []);
  await Promise.resolve();
  assert.deepEqual(sent, ["up to 3"]);
});

Deno.test("Receipts acknowledge each by itself what has something older open, and never that", async () => {
  const { acknowledge, sent } = delivered(5);
  acknowledge(3, 5, 1);
  await Promise.resolve();
  assert.deepEqual(sent, ["up to 1", "3", "5"]);
  acknowledge(2);
  await Promise.resolve();
  assert.deepEqual(sent.slice(3), ["up to 2"]);
});

Deno.test("Receipts send at once, and only once, what there is when they are told to", async () => {
  const { acknowledge, receipts, sent } = delivered(2);
  acknowledge(1, 2);
  receipts.flush();
  assert.deepEqual(sent, ["up to 2"]);
  await Promise.resolve();
  assert.deepEqual(sent, ["up to 2"]);
});

Deno.test("Receipts bear a channel that was closed", () => {
  const receipts = new Receipts({
    ack: () => {
      throw new Error("Channel closed");
    },
  });
  const message = { fields: { deliveryTag: 1 } } as ConsumeMessage;
  receipts.take(message);
  receipts.acknowledge(message);
  assert.doesNotThrow(() => receipts.flush());
});
