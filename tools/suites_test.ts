import assert from "node:assert/strict";
import { describeLeftOut, everyThird, leaveOut, LEFT_OUT_FILE, readLeftOut } from "./suites.ts";

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

for (const [every, expected] of [["0", ["a", "d", "g"]], ["1", ["a", "b", "c", "d", "e", "f", "g"]]] as const) {
  Deno.test(`everyThird() registers ${expected.length} of 7 cases with LEVERET_EVERY_CASE=${every}`, () => {
    const before = Deno.env.get("LEVERET_EVERY_CASE");
    Deno.env.set("LEVERET_EVERY_CASE", every);
    try {
      const names: string[] = [];
      const register = everyThird("a suite of a test", (name) => names.push(name));
      for (const name of "abcdefg") register(name, () => Promise.resolve());
      assert.deepEqual(names, expected);
    } finally {
      if (before === undefined) Deno.env.delete("LEVERET_EVERY_CASE");
      else Deno.env.set("LEVERET_EVERY_CASE", before);
    }
  });
}
