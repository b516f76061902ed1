import assert from "node:assert/strict";
import { Lender, type Source, type Use } from "./lender.ts";

/** A lender of so many connections, and uses of it that end when they are told to. */
function lending(size: number) {
  const source: Source<object> = {
    size,
    open: () => Promise.resolve({}),
    giveBack: () => {},
    close: () => Promise.resolve(),
  };
  const lender = new Lender(source);
  const running: Use[] = [];
  const ends: (() => void)[] = [];
  const begin = (use: Use) =>
    void lender.use(use, async () => {
      running.push(use);
      await new Promise<void>((resolve) => void ends.push(resolve));
      running.splice(running.indexOf(use), 1);
    });
  /** Lets everything go on that can. */
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  return { begin, running, ends, settle };
}

Deno.test("Lender lends two connections to questions, however many there are, and leaves the others to calls", async () => {
  const { begin, running, ends, settle } = lending(10);
  for (let at = 0; at < 20; at++) begin("question");
  for (let at = 0; at < 8; at++) begin("call");
  await settle();
  assert.deepEqual(running.filter((use) => use === "question").length, 2);
  assert.deepEqual(running.filter((use) => use === "call").length, 8);
  while (ends.length > 0) {
    ends.shift()!();
    await settle();
    assert.ok(running.filter((use) => use === "question").length <= 2);
  }
  assert.deepEqual(running, []);
});

Deno.test("Lender keeps two connections from bodies and questions together", async () => {
  const { begin, running, ends, settle } = lending(3);
  begin("body");
  begin("question");
  begin("call");
  begin("call");
  await settle();
  assert.deepEqual(running.toSorted(), ["body", "call", "call"]);
  ends.shift()!();
  await settle();
  assert.ok(running.includes("question"), running.join());
  while (ends.length > 0) {
    ends.shift()!();
    await settle();
  }
});
