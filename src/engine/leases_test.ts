import assert from "node:assert/strict";
import type { Request } from "../domain/record.ts";
import { silentLogger } from "../logger.ts";
import type { Lease, RenewAnswer } from "../store.ts";
import { virtualClock } from "../../testing/virtual_clock.ts";
import { type HeldLease, Leases } from "./leases.ts";

const RENEWED: RenewAnswer = { kind: "renewed", request: null };

function holding(renew: (leases: readonly Lease[]) => Promise<readonly RenewAnswer[]> = answer(RENEWED)) {
  const clock = virtualClock();
  const startedAt = clock.now();
  const beats: { readonly atMs: number; readonly tokens: readonly string[]; readonly untilMs: readonly number[] }[] =
    [];
  const heard: string[] = [];
  const lost: string[] = [];
  const requests: Request[] = [];
  const stopped: string[] = [];
  const warnings: string[] = [];
  const leases = new Leases({
    clock,
    logger: { ...silentLogger, warn: (line) => void warnings.push(line) },
    renew: (asked) => {
      beats.push({
        atMs: clock.now() - startedAt,
        tokens: asked.map(({ token }) => token),
        untilMs: asked.map(({ until }) => until - startedAt),
      });
      return renew(asked);
    },
    onBeat: (beat) => void heard.push(beat),
  });
  const hold = (token: string, leaseMs = 30_000, more: Partial<HeldLease> = {}) =>
    leases.hold({
      executionId: `execution of ${token}`,
      step: "charge",
      token,
      leaseMs,
      onLost: () => void lost.push(token),
      onRequest: (request) => void requests.push(request),
      onStop: () => void stopped.push(token),
      ...more,
    });
  return { beats, clock, heard, hold, leases, lost, requests, stopped, warnings };
}

function answer(one: RenewAnswer) {
  return (leases: readonly Lease[]) => Promise.resolve(leases.map(() => one));
}

Deno.test("Leases renews each lease when a third of it has passed, again and again", async () => {
  const { beats, clock, heard, hold } = holding();
  hold("t1");
  await clock.advance("35s");
  assert.deepEqual(beats, [
    { atMs: 10_000, tokens: ["t1"], untilMs: [40_000] },
    { atMs: 20_000, tokens: ["t1"], untilMs: [50_000] },
    { atMs: 30_000, tokens: ["t1"], untilMs: [60_000] },
  ]);
  assert.deepEqual(heard, ["good", "good", "good"]);
});

Deno.test("Leases asks for those only that are due, in one call, the shortest lease most often", async () => {
  const { beats, clock, hold } = holding();
  hold("long", 30_000);
  hold("short", 9_000);
  hold("twin", 9_000);
  await clock.advance("10s");
  assert.deepEqual(beats.map(({ atMs, tokens }) => [atMs, tokens.toSorted()]), [
    [3_000, ["short", "twin"]],
    [6_000, ["short", "twin"]],
    [9_000, ["short", "twin"]],
    [10_000, ["long"]],
  ]);
});

Deno.test("Leases beats no more once everything is let go", async () => {
  const { beats, clock, hold, leases } = holding();
  leases.release(hold("t1"));
  await clock.advance("5m");
  assert.deepEqual([beats, clock.pending, leases.size], [[], 0, 0]);
});

Deno.test("Leases tells the holder once that its lease is lost", async () => {
  const { beats, clock, hold, leases, lost } = holding(answer({ kind: "lost" }));
  hold("t1");
  await clock.advance("5m");
  assert.deepEqual([lost, beats.length, leases.size], [["t1"], 1, 0]);
});

Deno.test("Leases tells of no loss what was let go while it was being renewed", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { clock, hold, leases, lost } = holding(async (asked) => {
    await promise;
    return asked.map(() => ({ kind: "lost" }));
  });
  const held = hold("t1");
  await clock.advance("10s");
  leases.release(held);
  resolve();
  await clock.settle();
  assert.deepEqual(lost, []);
});

Deno.test("Leases hands on what is asked of an execution", async () => {
  const request: Request = { action: "compensate", actor: "ann", reason: null, at: 0 };
  const { clock, hold, requests } = holding(answer({ kind: "renewed", request }));
  hold("t1");
  await clock.advance("10s");
  assert.deepEqual(requests, [request]);
});

Deno.test("Leases tries again soon after a renewal that failed, not in a loop", async () => {
  let isDown = true;
  const { beats, clock, heard, hold } = holding((asked) =>
    isDown ? Promise.reject(new Error("away")) : Promise.resolve(asked.map(() => RENEWED))
  );
  hold("t1");
  await clock.advance("11s");
  assert.ok(beats.length >= 2 && beats.length <= 5, `${beats.length} beats in a second`);
  isDown = false;
  await clock.advance("1s");
  const count = beats.length;
  await clock.advance("9s");
  assert.deepEqual([beats.length, heard.at(-1)], [count, "good"]);
});

Deno.test("Leases.renew() renews at once, one lease or all", async () => {
  const { beats, hold, leases } = holding();
  hold("t1");
  await leases.renew(hold("t2"));
  await leases.renew();
  assert.deepEqual(beats.map(({ tokens }) => tokens), [["t2"], ["t1", "t2"]]);
});

Deno.test("Leases.stop() tells those who hold a lease still", () => {
  const { hold, leases, stopped } = holding();
  hold("t1");
  leases.release(hold("t2"));
  leases.stop();
  assert.deepEqual(stopped, ["t1"]);
});

Deno.test("Leases warns, naming the steps, when its timer comes too late", async () => {
  let lateMs = 0;
  const base = virtualClock();
  const warnings: string[] = [];
  const heard: string[] = [];
  const leases = new Leases({
    // A busy event loop: the timer's callback runs later than it was set for.
    clock: { ...base, now: () => base.now() + lateMs },
    logger: { ...silentLogger, warn: (line) => void warnings.push(line) },
    renew: answer(RENEWED),
    onBeat: (beat) => void heard.push(beat),
  });
  leases.hold({
    executionId: "order-1",
    step: "resize",
    token: "t1",
    leaseMs: 30_000,
    onLost: () => {},
    onRequest: () => {},
    onStop: () => {},
  });
  lateMs = 15_000;
  await base.advance("10s");
  assert.match(warnings.join(), /15000 ms late.*order-1 resize.*leases of 30000 ms/);
  assert.deepEqual([warnings.length, heard], [1, ["late", "good"]]);
});

Deno.test("Leases.clear() lets all go and stops its timer", async () => {
  const { beats, clock, hold, leases } = holding();
  hold("t1");
  leases.clear();
  await clock.advance("1m");
  assert.deepEqual([beats, leases.size, clock.pending], [[], 0, 0]);
});
