import assert from "node:assert/strict";
import { memoryStore } from "../../stores/memory.ts";
import { saga } from "../definition/saga.ts";
import { Engine } from "./engine.ts";
import { safeLogger } from "./safe_logger.ts";

const down = () => {
  throw new Error("logger down");
};
const BROKEN = { debug: down, info: down, warn: down, error: down };

Deno.test("safeLogger() passes on what is said, level by level", () => {
  const said: string[] = [];
  const say = (level: string) => (message: string) => void said.push(`${level} ${message}`);
  const logger = safeLogger({ debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") });
  for (const level of ["debug", "info", "warn", "error"] as const) logger[level]("a");
  assert.deepEqual(said, ["debug a", "info a", "warn a", "error a"]);
});

Deno.test("S2 a logger that throws harms nothing, whatever it is told", async () => {
  const store = memoryStore();
  const definition = saga("s2.logger").step("a", ({ log }) => {
    log.info("from a step");
    return { a: 1 };
  });
  const engine = new Engine({ store, definitions: [definition], logger: BROKEN });
  engine.on("saga.started", () => {
    throw new Error("subscriber down");
  });
  engine.work();
  const { execution } = await engine.start(definition, { input: {} });
  assert.deepEqual((await engine.wait(execution.id)).context, { a: 1 });
  await engine.close();
  await store.close();
});
