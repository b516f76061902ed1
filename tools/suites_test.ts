import assert from "node:assert/strict";
import { describeLeftOut, leaveOut, LEFT_OUT_FILE, readLeftOut } from "./suites.ts";

const SUITE = { name: "the store on PostgreSQL", needs: "PostgreSQL", turnOn: "set LEVERET_POSTGRES_URL" };

Deno.test("leaveOut() notes each suite once for the end of the run", async () => {
  const before = Deno.env.get(LEFT_OUT_FILE);
  const file = await Deno.makeTempFile();
  Deno.env.set(LEFT_OUT_FILE, file);
  try {
    leaveOut(SUITE);
    leaveOut(SUITE);
    leaveOut({ ...SUITE, name: "the console" });
    assert.deepEqual(readLeftOut(file), [SUITE, { ...SUITE, name: "the console" }]);
  } finally {
    if (before === undefined) Deno.env.delete(LEFT_OUT_FILE);
    else Deno.env.set(LEFT_OUT_FILE, before);
    await Deno.remove(file);
  }
});

Deno.test("describeLeftOut() says what is needed and what turns it on", () => {
  assert.equal(
    describeLeftOut(SUITE),
    "left out: the store on PostgreSQL (needs PostgreSQL; set LEVERET_POSTGRES_URL)",
  );
});
