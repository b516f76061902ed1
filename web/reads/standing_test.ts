import assert from "node:assert/strict";
import type { InProgress, Queries } from "../../src/queries.ts";
import { StandingReader } from "./standing.ts";

/** Answers that are given by hand, in the order of the questions. */
function byHand() {
  const asked: number[] = [];
  const answers: ((answer: InProgress | Error) => void)[] = [];
  const inProgress: Queries["inProgress"] = ({ now }) => {
    asked.push(now);
    const { promise, resolve, reject } = Promise.withResolvers<InProgress>();
    answers.push((answer) => answer instanceof Error ? reject(answer) : resolve(answer));
    return promise;
  };
  return { reader: new StandingReader({ inProgress } as Queries, 1_000), asked, answers };
}

Deno.test("StandingReader reads once for all who ask meanwhile, and tells them of when it is", async () => {
  const { reader, asked, answers } = byHand();
  const first = reader.read(1);
  const second = reader.read(2, 1);
  assert.deepEqual([first.now, second.now, asked], [1, 1, [1]]);
  answers[0]!({ now: 1, steps: [] });
  assert.deepEqual(await Promise.all([first.answer, second.answer]), [{ now: 1, steps: [] }, { now: 1, steps: [] }]);
  assert.equal(reader.read(3).now, 3, "nothing is kept");
});

Deno.test("StandingReader gives nobody what is older than what they have seen", () => {
  const { reader, asked } = byHand();
  reader.read(5);
  assert.equal(reader.read(7, 6).now, 7);
  assert.deepEqual(asked, [5, 7]);
});

Deno.test("StandingReader reads again after a failure", async () => {
  const { reader, answers } = byHand();
  const failed = [reader.read(1).answer, reader.read(2).answer];
  answers[0]!(new Error("gone"));
  for (const answer of failed) await assert.rejects(answer, /gone/);
  assert.equal(reader.read(3).now, 3);
});
