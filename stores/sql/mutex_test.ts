import assert from "node:assert/strict";
import { Mutex } from "./mutex.ts";

Deno.test("run() runs sections one at a time, in the order in which they came", async () => {
  const mutex = new Mutex();
  const seen: string[] = [];
  const section = (name: string) => async () => {
    seen.push(`${name} begins`);
    await Promise.resolve();
    seen.push(`${name} ends`);
    return name;
  };
  const answers = await Promise.all([mutex.run(section("a")), mutex.run(section("b")), mutex.run(() => "c")]);
  assert.deepEqual(answers, ["a", "b", "c"]);
  assert.deepEqual(seen, ["a begins", "a ends", "b begins", "b ends"]);
});

Deno.test("run() rejects with what a section throws, and runs the next", async () => {
  const mutex = new Mutex();
  const failing = mutex.run(() => {
    throw new Error("boom");
  });
  const next = mutex.run(() => "next");
  await assert.rejects(failing, /boom/);
  assert.equal(await next, "next");
});
