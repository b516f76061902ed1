import assert from "node:assert/strict";
import { memoryStore } from "../../stores/memory.ts";
import { fakeExchange } from "../../testing/fake_exchange.ts";
import { faultPoints } from "../../testing/fault_points.ts";
import { virtualClock } from "../../testing/virtual_clock.ts";
import { saga } from "../definition/saga.ts";
import { silentLogger } from "../logger.ts";
import { Engine } from "./engine.ts";

Deno.test("Worker writes at most a line a second in an outage, however many hints it is given", async () => {
  const clock = virtualClock();
  const points = faultPoints();
  const exchange = fakeExchange({ automatic: true });
  const lines: string[] = [];
  const engine = new Engine({
    store: points.store(memoryStore({ clock })),
    exchange,
    clock,
    definitions: [saga("order").step("charge", () => {})],
    logger: { ...silentLogger, error: (line) => lines.push(line) },
  });
  engine.work();
  await clock.settle();
  points.at("store.load:before", "throw");
  const hint = { epoch: 1, partition: "default", step: "charge", direction: "execute" } as const;
  await exchange.publish(Array.from({ length: 100 }, (_, index) => ({ ...hint, executionId: `order-${index}` })));
  await clock.advance("900ms");
  assert.deepEqual(lines.map((line) => line.split(":")[0]), [
    "The store does not answer; what is open is kept and tried again",
  ]);
  await clock.until(engine.close());
});
