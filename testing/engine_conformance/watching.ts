/** Waiting for executions, and what can be seen of them: wait, explain, health, attempts, events, the log. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import { errorOf } from "../../src/domain/failure.ts";
import type { SagaEvent } from "../../src/engine/events.ts";
import { logSubscriber } from "../../src/engine/log_subscriber.ts";
import { NonRetryable } from "../../src/errors.ts";
import { anExecution } from "../factories.ts";
import { fakeExchange } from "../fake_exchange.ts";
import { type Cases, every, range, rejects, unavailable } from "./suite.ts";

/** Registers the cases. */
export function watchingCases({ add, addIf }: Cases): void {
  waitCases(add);
  explainCases({ add, addIf });
  eventCases(add);

  addIf("own exchange", "health() tells what works and what is consumed, and does not reject", async (world) => {
    const exchange = fakeExchange();
    const node = world.node([saga("health").step("a", () => {})], { exchange });
    const idle = await node.engine.health();
    assert.deepEqual([idle.ok, idle.store.ok, idle.exchange, idle.partitions, idle.lastSweepAt], [
      true,
      true,
      { ok: true, detail: "fake" },
      [],
      null,
    ]);
    node.work({ partitions: { a: {}, b: {} } });
    await world.settle();
    const busy = await node.engine.health();
    assert.deepEqual([busy.partitions, busy.lastSweepAt], [["a", "b"], world.clock.now()]);
    node.around.hooks = { before: () => Promise.reject(unavailable()) };
    const ill = await node.engine.health();
    assert.deepEqual([ill.ok, ill.store.ok, ill.exchange.ok], [false, false, true]);
    assert.match(ill.store.detail, /Cannot reach the store/);
    node.around.hooks = {};
    exchange.health = () => Promise.resolve({ ok: false, detail: "no broker" });
    assert.equal((await node.engine.health()).ok, false);
  });

  add("attempts() shows the open attempt as running", async (world) => {
    const definition = saga("watch.attempts").step("a", () => ({ a: 1 })).step("b", () => world.gate("b").pass());
    const { id, node } = await world.begin(definition);
    await world.until(world.gate("b").arrived());
    const [first, open, ...rest] = await node.engine.attempts(id);
    assert.deepEqual([first?.status, first?.result, rest], ["succeeded", { a: 1 }, []]);
    assert.deepEqual(
      [open?.status, open?.stepName, open?.attempt, open?.finishedAt, open?.durationMs],
      ["running", "b", 1, null, null],
    );
    world.gate("b").open();
    await world.ended(id);
    assert.deepEqual((await node.engine.attempts(id)).map(({ status }) => status), ["succeeded", "succeeded"]);
  });

  add("get() answers null for what is not there; everything else rejects with not_found", async (world) => {
    const { engine } = world.node([saga("watch.nobody").step("a", () => {})]);
    assert.equal(await engine.get("nobody"), null);
    for (
      const call of [
        () => engine.operations("nobody"),
        () => engine.attempts("nobody"),
        () => engine.signals("nobody"),
        () => engine.explain("nobody"),
        () => engine.retry("nobody"),
        () => engine.compensate("nobody"),
        () => engine.skipStep("nobody"),
        () => engine.terminate("nobody"),
        () => engine.rerun("nobody"),
        () => engine.dispatch("nobody"),
        () => engine.signal("nobody", "go"),
        () => engine.compensationPlan("nobody"),
      ]
    ) {
      const error = await rejects(call, "not_found");
      assert.equal(error.details.executionId, "nobody", String(call));
    }
  });
}

function waitCases(add: Cases["add"]): void {
  add("wait() resolves with the execution, however it ended", async (world) => {
    const definition = saga<{ ok: boolean }>("wait.ends").step(
      "a",
      ({ context, fail }) => context.ok ? undefined : fail("no"),
    );
    const node = world.node([definition]);
    node.work();
    for (const ok of [true, false]) {
      const { execution } = await node.engine.start(definition, { input: { ok } });
      const done = await world.until(node.engine.wait(execution.id));
      assert.deepEqual(done, await world.execution(execution.id));
      assert.equal(done.status, ok ? "completed" : "failed");
      assert.deepEqual(await world.until(node.engine.wait(execution.id)), done);
    }
  });

  add("wait() hears of what ends in this process at once, and asks the store about others'", async (world) => {
    const definition = saga("wait.other").step("a", () => world.gate("a").pass());
    const { id, node } = await world.begin(definition);
    const other = world.node([definition], { connection: "second", waitInterval: "2s" });
    const here = node.engine.wait(id);
    const there = other.engine.wait(id);
    await world.advance("1m");
    world.gate("a").open();
    await world.settle();
    const at = world.clock.now();
    assert.equal((await here).status, "completed");
    assert.equal((await world.until(there)).status, "completed");
    assert.ok(world.clock.now() - at <= 2_000);
  });

  add("wait() of a hundred executions asks in one poll", async (world) => {
    const definition = saga("wait.many").waitFor("go");
    const node = world.node([definition], { waitInterval: "1s" });
    const ids = range(100).map((n) => `many-${n}`);
    await Promise.all(ids.map((id) => node.engine.start(definition, { input: {}, id })));
    const waits = ids.map((id) => node.engine.wait(id));
    await world.advance("10s");
    assert.ok(node.count("status") <= 12, `${node.count("status")} polls`);
    world.node([definition], { connection: "second" }).work();
    for (const id of ids) await node.engine.signal(id, "go");
    await world.until(Promise.all(waits));
  });

  add("wait() rejects when the execution is blocked, with its reason and what went wrong", async (world) => {
    const definition = saga("wait.blocked").step("a", {
      run: () => {
        throw new ReferenceError("oops is not defined");
      },
      retry: 1,
    });
    const { id, node } = await world.begin(definition);
    const error = await rejects(world.until(node.engine.wait(id)), "blocked", { status: "blocked" });
    assert.deepEqual(error.details, { executionId: id, status: "blocked", blockedReason: "bug" });
    assert.match(error.message, /ReferenceError: oops is not defined/);
    assert.equal((error.cause as Error).message, "oops is not defined");
  });

  add("wait() hears of what another process found blocked", async (world) => {
    const definition = saga("wait.blocked.other").step("a", () => ({ x: 1n as unknown as number }));
    const other = world.node([definition], { connection: "second" });
    const { execution } = await other.engine.start(definition, { input: {} });
    const waiting = rejects(other.engine.wait(execution.id), "blocked");
    await world.advance("1s");
    world.node([definition]).work();
    await world.until(waiting);
  });

  add("wait({ throughBlocked }) goes on until somebody has mended it", async (world) => {
    let isBroken = true;
    const definition = saga("wait.through").step("a", () => isBroken ? { x: 1n as unknown as number } : undefined);
    const { id, node } = await world.begin(definition);
    const waiting = node.engine.wait(id, { throughBlocked: true });
    await world.ended(id);
    await world.advance("1m");
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.until(waiting)).status, "completed");
  });

  add("wait() with a signal rejects with its reason, and the execution goes on", async (world) => {
    const definition = saga("wait.abort").step("a", () => world.gate("a").pass());
    const { id, node } = await world.begin(definition);
    const controller = new AbortController();
    const waiting = node.engine.wait(id, { signal: controller.signal });
    await world.settle();
    controller.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
    await assert.rejects(node.engine.wait(id, { signal: AbortSignal.abort(new Error("already")) }), /already/);
    world.gate("a").open();
    assert.equal((await world.ended(id)).execution.status, "completed");
  });

  add("wait() of an execution that is not there rejects, and close() rejects those who wait", async (world) => {
    const definition = saga("wait.closed").waitFor("go");
    const { id, node } = await world.begin(definition);
    await rejects(world.until(node.engine.wait("nobody")), "not_found");
    const waiting = rejects(node.engine.wait(id), "closed");
    await world.settle();
    await world.until(node.engine.close());
    await waiting;
  });

  add("wait() outlasts an outage of the store", async (world) => {
    const definition = saga("wait.outage").step("a", () => world.gate("a").pass());
    const { id } = await world.begin(definition);
    const other = world.node([definition], { connection: "second" });
    other.around.hooks = { before: (call) => call === "status" ? Promise.reject(unavailable()) : undefined };
    const waiting = other.engine.wait(id);
    await world.advance("1m");
    world.gate("a").open();
    await world.ended(id);
    other.around.hooks = {};
    assert.equal((await world.until(waiting)).status, "completed");
  });
}

function explainCases({ add, addIf }: Cases): void {
  add("explain(): an attempt that is open, and one whose lease has ended", async (world) => {
    const definition = saga("explain.open").step("a", () => world.gate("a").pass());
    const { id, node } = await world.begin(definition, { work: { name: "w-1" } });
    await world.gate("a").arrived();
    const { dueAt, owner } = await world.execution(id);
    const open = await node.engine.explain(id);
    assert.deepEqual([open.kind, open.step, open.owner, open.until, open.attempts], [
      "attempt_open",
      "a",
      owner,
      dueAt,
      { used: 0, of: 3 },
    ]);
    assert.match(open.sentence, /^w-1\/[0-9a-f]{16} runs "a", lease until 2\d{3}-.*Z$/);
    node.kill();
    await world.advance("31s");
    const other = world.node([definition], { connection: "second" });
    assert.equal((await other.engine.explain(id)).kind, "lease_ended");
  });

  add("explain(): a retry that is planned, with how many were used", async (world) => {
    const definition = saga("explain.retry").step("a", {
      run: () => {
        throw new Error("down");
      },
      retry: every(600_000, 10),
    });
    const { id, node } = await world.begin(definition);
    const at = world.clock.now() + 600_000;
    await world.settle();
    const { kind, sentence, until, attempts } = await node.engine.explain(id);
    assert.deepEqual([kind, until, attempts], ["retry_planned", at, { used: 1, of: 10 }]);
    assert.equal(sentence, `attempt 2 of 10 of "a" is due at ${new Date(at).toISOString()}`);
  });

  add("explain(): a sleep, a wait with and without a limit", async (world) => {
    const sleeps = saga("explain.sleep").sleep("nap", "1h");
    const waits = saga("explain.wait").waitFor("go", { timeout: "1h" });
    const endless = saga("explain.endless").waitFor("go");
    const node = world.node([sleeps, waits, endless]);
    node.work();
    const at = new Date(world.clock.now() + 3_600_000).toISOString();
    const expected = [
      [sleeps, "sleeping", `sleeping in "nap" until ${at}`],
      [waits, "waiting_for_signal", `waiting for the signal "go" until ${at}`],
      [endless, "waiting_for_signal", 'waiting for the signal "go" without a time limit'],
    ] as const;
    for (const [definition, kind, sentence] of expected) {
      const { execution } = await node.engine.start(definition, { input: {} });
      await world.settle();
      const explained = await node.engine.explain(execution.id);
      assert.deepEqual([explained.kind, explained.sentence], [kind, sentence]);
    }
  });

  add("explain(): what is blocked or finished, and why", async (world) => {
    const blocks = saga("explain.blocked").step("a", () => ({ a: 1n as unknown as number }));
    const ends = saga("explain.done").step("a", () => {});
    const node = world.node([blocks, ends]);
    node.work();
    const { execution: blocked } = await node.engine.start(blocks, { input: {} });
    await world.ended(blocked.id);
    const why = await node.engine.explain(blocked.id);
    assert.equal(why.kind, "blocked");
    assert.match(why.sentence, /^blocked at "a" as not_storable: .*\$\.a/);
    const { execution: done } = await node.engine.start(ends, { input: {} });
    const { execution } = await world.ended(done.id);
    const { kind, sentence } = await node.engine.explain(done.id);
    assert.deepEqual([kind, sentence], [
      "finished",
      `completed at ${new Date(execution.finishedAt!).toISOString()}`,
    ]);
    for (const ending of ["failed", "compensated", "compensation_failed"] as const) {
      const undo = ending === "failed" ? {} : {
        undo: () => {
          if (ending === "compensation_failed") throw new Error("the bank says no");
        },
        undoRetry: 1,
      };
      const fails = saga(`explain.${ending}`)
        .step("a", { run: () => {}, ...undo })
        .step("b", ({ fail }) => fail("no seats left"));
      const other = world.node([fails]);
      other.work();
      const { execution: { id } } = await other.engine.start(fails, { input: {} });
      const { execution: { finishedAt, status } } = await world.ended(id);
      const said = ending === "compensation_failed" ? "the bank says no" : "no seats left";
      assert.deepEqual([status, (await other.engine.explain(id)).sentence], [
        ending,
        `${ending} at ${new Date(finishedAt!).toISOString()}: ${said}`,
      ]);
    }
  });

  add("explain(): a request that waits for the open step", async (world) => {
    const definition = saga("explain.request").step("a", { run: () => world.gate("a").pass(), undo: () => {} });
    const { id, node } = await world.begin(definition);
    await world.gate("a").arrived();
    await node.engine.compensate(id, { actor: "ann" });
    const { kind, sentence } = await node.engine.explain(id);
    assert.deepEqual([kind, sentence], [
      "request_waiting",
      'ann asked to compensate it; carried out once "a" has ended',
    ]);
  });

  addIf("own exchange", "explain(): no live worker that knows it, what is just due, and what stalls", async (world) => {
    const definition = saga("explain.nobody", { version: 2 }).step("a", () => {});
    const node = world.node([definition], { exchange: fakeExchange({ onPublish: () => "lose" }) });
    const { execution } = await node.engine.start(definition, { input: {} });
    const { kind, sentence } = await node.engine.explain(execution.id);
    assert.deepEqual([kind, sentence], [
      "no_worker",
      'no live worker knows explain.nobody v2 on partition "default"',
    ]);
    const announce = () =>
      world.store.workers.announce({
        id: "silent",
        partitions: ["default"],
        definitions: [{ name: "explain.nobody", version: 2 }],
        seenAt: world.clock.now(),
        until: world.clock.now() + 60_000,
      });
    await announce();
    assert.equal((await node.engine.explain(execution.id)).kind, "due");
    await world.advance("16m");
    await announce();
    assert.equal((await node.engine.explain(execution.id)).kind, "stalled");
  });

  add(
    "explain() and versions need no definition: an execution of an unknown saga is shown for what it is",
    async (world) => {
      const now = world.clock.now();
      await world.store.insert([anExecution({ id: "stranger", sagaName: "nobody.knows", startedAt: now, dueAt: now })]);
      const node = world.node([saga("explain.known").step("a", () => {})]);
      const { kind, attempts } = await node.engine.explain("stranger");
      assert.deepEqual([kind, attempts], ["no_worker", null]);
      assert.equal((await node.engine.get("stranger"))?.sagaName, "nobody.knows");
      await rejects(node.engine.rerun("stranger"), "wrong_state");
      await node.engine.terminate("stranger");
      await rejects(node.engine.rerun("stranger"), "unknown_definition");
    },
  );
}

function eventCases(add: Cases["add"]): void {
  add("events tell of a success in the order of its commits", async (world) => {
    const definition = saga("events").step("a", () => ({ a: 1 })).step("b", ({ skip }) => skip("no need"));
    const { id, node } = await world.begin(definition);
    await world.ended(id);
    assert.deepEqual(node.events.map(textOf), [
      "saga.started",
      "saga.step.started a 1",
      "saga.step.finished a 1",
      "saga.step.started b 1",
      "saga.step.skipped b 1 no need",
      "saga.completed no need",
    ]);
  });

  add("events tell of a failure and the way back", async (world) => {
    let runs = 0;
    const definition = saga("events.back")
      .step("a", {
        run: () => {},
        undo: () => {
          if (++runs === 1) throw new Error("down");
        },
        undoRetry: every(1_000, 2),
      })
      .step("b", {
        run: () => {
          throw new Error("declined");
        },
        retry: every(1_000, 2),
      });
    const { id, node } = await world.begin(definition);
    await world.ended(id);
    assert.deepEqual(node.events.slice(3).map(textOf), [
      "saga.step.started b 1",
      "saga.step.failed b 1 declined",
      "saga.step.started b 2",
      "saga.step.failed b 2 declined",
      "saga.compensation_started a declined",
      "saga.step.started a 1",
      "saga.step.failed a 1 down",
      "saga.step.started a 2",
      "saga.step.finished a 2",
      "saga.compensated",
    ]);
    const failures = node.events.filter((event) => event.name === "saga.step.failed");
    assert.deepEqual(failures.map(({ retriesExhausted, direction }) => [retriesExhausted, direction]), [
      [false, "execute"],
      [true, "execute"],
      [false, "compensate"],
    ]);
  });

  add("events tell of blocks, retries, signals, and ends that need a person", async (world) => {
    let mode = "bug";
    const definition = saga("events.blocked").step("a", {
      run: () => {},
      undo: () => {
        throw new NonRetryable("cannot");
      },
    }).step("b", {
      run: ({ fail }) => {
        if (mode === "bug") throw new ReferenceError("oops");
        return fail("no");
      },
      retry: 1,
    });
    const { id, node } = await world.begin(definition);
    await world.ended(id);
    await node.engine.signal(id, "hello");
    mode = "failure";
    await node.engine.retry(id);
    await world.until(async () => (await world.execution(id)).status === "compensation_failed");
    assert.deepEqual(node.eventNames(["saga.step.started", "saga.step.finished", "saga.step.failed"]), [
      "saga.started",
      "saga.blocked",
      "saga.signalled",
      "saga.retried",
      "saga.compensation_started",
      "saga.compensation_failed",
    ]);
    const blocked = node.events.find((event) => event.name === "saga.blocked");
    assert.deepEqual(
      [blocked?.reason, blocked?.step, blocked?.errorClass, blocked?.errorMessage, blocked?.status],
      ["bug", "b", "ReferenceError", "oops", "blocked"],
    );
    assert.equal(errorOf((await world.execution(id)).compensationFailure!).message, "cannot");
  });

  add("events tell of a take-over, and of a hint that was sent again", async (world) => {
    let runs = 0;
    const definition = saga("events.abandoned").step("a", async () => {
      if (++runs === 1) await world.gate("a").pass();
    });
    const { id, node: first } = await world.begin(definition);
    await world.gate("a").arrived();
    first.kill();
    await world.advance("20m");
    const second = world.node([definition], { connection: "second" });
    assert.deepEqual((await second.engine.resumeStuck({ olderThan: "15m" })).resumed, [id]);
    second.work();
    await world.ended(id, "3h");
    assert.deepEqual(second.events.map(textOf), [
      "saga.resumed",
      "saga.step.abandoned a 1 The worker vanished; whether the step took effect is not known",
      "saga.step.started a 2",
      "saga.step.finished a 2",
      "saga.completed",
    ]);
    assert.equal(second.events[0]?.execution.id, id);
  });

  add("events are heard after their commit, by name, until one stops listening", async (world) => {
    const seen: string[] = [];
    const definition = saga("events.after").step("a", () => {}).step("b", () => {});
    const node = world.node([definition]);
    const stop = node.engine.on("saga.step.finished", async (event) => {
      seen.push(event.step ?? "");
      // At once: while a server is asked, the next step ends.
      stop();
      const [record] = await world.store.load([event.executionId]);
      assert.ok(record?.attempts.some((row) => row.stepName === event.step));
    });
    node.work();
    const { execution } = await node.engine.start(definition, { input: {} });
    await world.ended(execution.id);
    assert.deepEqual([seen, node.lines("error")], [["a"], []]);
  });

  add("a commit that was refused tells of nothing", async (world) => {
    let runs = 0;
    const definition = saga("events.refused").step("a", async () => {
      const run = ++runs;
      await world.gate(`a${run}`).pass();
    });
    const { id, node: first } = await world.begin(definition);
    await world.gate("a1").arrived();
    first.freeze();
    const second = world.node([definition], { connection: "second" });
    second.work();
    await world.until(world.gate("a2").arrived());
    world.gate("a2").open();
    await world.ended(id);
    world.gate("a1").open();
    first.thaw();
    await world.advance("1m");
    assert.deepEqual(first.eventNames(), ["saga.started", "saga.step.started"]);
  });

  add("the log subscriber writes a line for each event, at its level", async (world) => {
    const lines: string[] = [];
    const write = (level: string) => (line: string) => void lines.push(`${level} ${line}`);
    const definition = saga("events.log").step("a", { run: () => {}, undo: () => {} }).step(
      "b",
      ({ fail }) => fail('it said "no"'),
    );
    const node = world.node([definition]);
    node.engine.on(
      "*",
      logSubscriber({ debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") }),
    );
    node.work();
    await node.engine.start(definition, { input: {}, id: "e-1", resource: { type: "Order", id: "7" } });
    await world.ended("e-1");
    const about = "execution=e-1 resource=Order/7 saga=events.log";
    assert.deepEqual(lines.map((line) => line.replace(/duration_ms=\d+/, "duration_ms=0")), [
      `info saga.started ${about} status=running`,
      `debug saga.step.started ${about} step=a attempt=1 status=running`,
      `debug saga.step.finished ${about} step=a attempt=1 duration_ms=0 status=running`,
      `debug saga.step.started ${about} step=b attempt=1 status=running`,
      `warn saga.step.failed ${about} step=b attempt=1 duration_ms=0 status=compensating retries_exhausted=true ` +
      `error="Failed: it said \\"no\\""`,
      `info saga.compensation_started ${about} step=a direction=compensate status=compensating ` +
      `error="Failed: it said \\"no\\""`,
      `debug saga.step.started ${about} step=a attempt=1 direction=compensate status=compensating`,
      `debug saga.step.finished ${about} step=a attempt=1 direction=compensate duration_ms=0 status=compensated`,
      `info saga.compensated ${about} direction=compensate status=compensated`,
    ]);
  });
}

/** An event's name, and what it says beside. */
function textOf(event: SagaEvent): string {
  const reason = "reason" in event ? event.reason : null;
  return [event.name, event.step, event.attempt, event.errorMessage, reason].filter((part) => part !== null).join(" ");
}
