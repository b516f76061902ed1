/** Retries, timeouts, deadlines, bugs: when a step is tried again, and when it is not. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import type { RetryOptions } from "../../src/definition/retry_options.ts";
import { NonRetryable, RetryAfter } from "../../src/errors.ts";
import { type Cases, every } from "./suite.ts";
import type { World } from "./world.ts";

/** Registers the cases. */
export function retryCases({ add }: Cases): void {
  for (
    const [what, retry, delays] of [
      ["the same wait each time", every(1_000, 4), [1_000, 1_000, 1_000]],
      ["waits that double", { attempts: 5, delay: 1_000, jitter: false }, [1_000, 2_000, 4_000, 8_000]],
      ["waits up to the longest", { attempts: 4, delay: 1_000, factor: 10, maxDelay: "30s", jitter: false }, [
        1_000,
        10_000,
        30_000,
      ]],
      ["no wait at all", { attempts: 4, delay: 0 }, [0, 0, 0]],
    ] as const
  ) {
    add(`a step is tried again after ${what}`, async (world) => {
      const at = await failingTimes(world, retry);
      assert.deepEqual(at.slice(1).map((time, index) => time - at[index]!), delays);
    });
  }

  add(
    "a step is tried three times by default, after waits of at most 1 s and 2 s, and 25 times after the pivot",
    async (world) => {
      const at = await failingTimes(world, undefined);
      assert.equal(at.length, 3);
      assert.ok(at[1]! - at[0]! <= 1_000 && at[2]! - at[1]! <= 2_000, at.join());
      let runs = 0;
      const definition = saga("retries.pivot").pivot("p", () => {}).step("a", () => {
        runs++;
        throw new Error("no");
      });
      const { id } = await world.begin(definition, { node: { sweepInterval: "1h" } });
      assert.equal((await world.ended(id, "2d")).execution.blockedReason, "after_pivot");
      assert.equal(runs, 25);
    },
  );

  add("a failed attempt says what went wrong and when the next one is due", async (world) => {
    const definition = saga("retries.row").step("a", {
      run: () => {
        throw new Error("down", { cause: new TypeError("socket") });
      },
      retry: every(5_000, 2),
    });
    const at = world.clock.now();
    const { id } = await world.begin(definition);
    const { attempts: [first, second], execution } = await world.ended(id);
    assert.deepEqual(
      [first?.errorClass, first?.errorMessage, first?.retryAt, second?.retryAt],
      ["Error", "down", at + 5_000, null],
    );
    assert.match(first?.errorBacktrace ?? "", /down/);
    assert.deepEqual(execution.failure?.cause, { class: "TypeError", message: "socket" });
  });

  for (const kind of ["milliseconds", "an instant"] as const) {
    add(`RetryAfter with ${kind} sets the time of the next try, and uses up an attempt`, async (world) => {
      const at: number[] = [];
      const definition = saga("retries.after").step("a", {
        run: () => {
          at.push(world.clock.now());
          throw new RetryAfter(kind === "milliseconds" ? 90_000 : new Date(world.clock.now() + 90_000));
        },
        retry: 2,
      });
      const { id } = await world.begin(definition);
      assert.equal((await world.ended(id)).execution.failure?.class, "RetryAfter");
      assert.deepEqual(at.map((time) => time - at[0]!), [0, 90_000]);
    });
  }

  for (const when of [-5_000, NaN, Infinity]) {
    add(`RetryAfter(${when}) does no harm`, async (world) => {
      let runs = 0;
      const definition = saga("retries.odd").step("a", () => {
        if (++runs === 1) throw new RetryAfter(when);
      });
      const { id } = await world.begin(definition);
      assert.equal((await world.ended(id)).execution.status, "completed");
    });
  }

  add("NonRetryable and fail() end the tries", async (world) => {
    for (const how of ["thrown", "returned"]) {
      let runs = 0;
      const definition = saga(`retries.final.${how}`).step("a", ({ fail }) => {
        runs++;
        if (how === "thrown") throw new NonRetryable("never");
        return fail("never");
      });
      const { id } = await world.begin(definition);
      const { execution } = await world.ended(id);
      assert.deepEqual([execution.status, execution.failure?.message, runs], ["failed", "never", 1]);
    }
  });

  timeoutCases(add);
  deadlineCases(add);
  bugCases(add);
}

function timeoutCases(add: Cases["add"]): void {
  add("a timeout aborts the signal, and fails the attempt once the code has settled", async (world) => {
    const reasons: unknown[] = [];
    const definition = saga("timeout").step("a", {
      run: ({ signal }) =>
        new Promise<void>((_, reject) =>
          signal.addEventListener("abort", () => {
            reasons.push([signal.reason.name, world.clock.now()]);
            reject(signal.reason);
          })
        ),
      timeout: "10s",
      retry: 1,
    });
    const at = world.clock.now();
    const { id } = await world.begin(definition);
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, execution.failure?.class], ["failed", "StepTimeout"]);
    assert.deepEqual([reasons, attempts[0]?.durationMs], [[["StepTimeout", at + 10_000]], 10_000]);
  });

  add("what settles with a value after its timeout is a success", async (world) => {
    const definition = saga("timeout.value").step("a", {
      run: async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { done: true };
      },
      timeout: "10s",
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.context], ["completed", { done: true }]);
  });

  add("code that ignores its signal is waited for during the grace, and its outcome is unknown", async (world) => {
    const undone: unknown[] = [];
    const definition = saga("timeout.deaf").step("a", {
      run: async () => {
        await world.gate("a").pass();
        return { late: true };
      },
      undo: ({ written }) => void undone.push(written),
      undoOnFailure: true,
      timeout: "10s",
      retry: 1,
    });
    const at = world.clock.now();
    const { id } = await world.begin(definition, { node: { abortGrace: "3s" } });
    const { execution, attempts } = await world.ended(id);
    assert.deepEqual([execution.status, undone], ["compensated", [undefined]]);
    assert.deepEqual(
      [attempts[0]?.status, attempts[0]?.errorClass, attempts[0]?.undo, attempts[0]?.finishedAt],
      ["failed", "StepTimeout", "unknown", at + 13_000],
    );
    world.gate("a").open();
    await world.advance("1m");
    assert.deepEqual(await world.execution(id), execution);
  });

  add("what timed out may have happened: without undoOnFailure its undo asks a person", async (world) => {
    const definition = saga("timeout.unknown").step("a", {
      run: ({ signal }) =>
        new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      undo: () => {},
      timeout: "10s",
      retry: 1,
    });
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, execution.blockedReason, execution.direction],
      ["blocked", "outcome_unknown", "compensate"],
    );
  });

  add("a timeout counts each attempt for itself", async (world) => {
    let runs = 0;
    const definition = saga("timeout.each").step("a", {
      run: ({ signal }) => {
        if (++runs === 2) return;
        return new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      timeout: "10s",
      retry: every(1_000, 2),
    });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.deepEqual(await world.attempts(id), ["a#1 failed", "a#2 succeeded"]);
  });
}

function deadlineCases(add: Cases["add"]): void {
  add("a deadline asks the open step to stop, which costs no attempt, and what was done is undone", async (world) => {
    const reasons: string[] = [];
    const undone: string[] = [];
    const definition = saga("deadline", { deadline: "1m" })
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .step("b", ({ signal }) =>
        new Promise<void>((_, reject) =>
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason.name);
            reject(signal.reason);
          })
        ));
    const at = world.clock.now();
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, execution.failure?.class, execution.deadlineAt, reasons, undone],
      ["compensated", "DeadlineExceeded", at + 60_000, ["DeadlineExceeded"], ["a"]],
    );
    assert.deepEqual((await world.attempts(id)).slice(0, 2), ["a#1 succeeded", "b#1 interrupted"]);
  });

  for (
    const [what, arrange] of [
      ["a backoff", () => saga("deadline.backoff", { deadline: "1m" }).step("a", failing(every(86_400_000, 3)))],
      ["a sleep", () => saga("deadline.sleep", { deadline: "1m" }).sleep("nap", "1d")],
      ["a wait", () => saga("deadline.wait", { deadline: "1m" }).waitFor("go", { timeout: "1d" })],
      ["an endless wait", () => saga("deadline.endless", { deadline: "1m" }).waitFor("go")],
    ] as const
  ) {
    add(`a deadline ends ${what}`, async (world) => {
      const at = world.clock.now();
      const { id } = await world.begin(arrange());
      const { execution } = await world.ended(id);
      assert.deepEqual(
        [execution.status, execution.failure?.class, execution.finishedAt],
        ["failed", "DeadlineExceeded", at + 60_000],
      );
    });
  }

  add("a deadline leaves a running pivot to its end", async (world) => {
    let isAborted = false;
    const definition = saga("deadline.running", { deadline: "1m" })
      .pivot("p", async ({ signal }) => {
        signal.addEventListener("abort", () => isAborted = true);
        await world.gate("p").pass();
      });
    const { id } = await world.begin(definition);
    await world.advance("2m");
    world.gate("p").open();
    assert.equal((await world.ended(id)).execution.status, "completed");
    assert.equal(isAborted, false);
  });

  add("a deadline after the pivot blocks", async (world) => {
    const definition = saga("deadline.pivot", { deadline: "1m" }).pivot("p", () => {}).sleep("nap", "1d");
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.blockedReason, "after_pivot");
  });

  add("a deadline counts from the planned start, and does not hurry the way back", async (world) => {
    let undoes = 0;
    const definition = saga("deadline.start", { deadline: "1m" })
      .step("a", {
        run: () => {},
        undo: () => {
          if (++undoes < 3) throw new Error("down");
        },
        undoRetry: every(300_000, 5),
      })
      .sleep("nap", "1h");
    const at = world.clock.now() + 3_600_000;
    const { id } = await world.begin(definition, { node: { sweepInterval: "10m" }, start: { at } });
    const { execution } = await world.ended(id, "3h");
    assert.deepEqual([execution.status, execution.deadlineAt, undoes], ["compensated", at + 60_000, 3]);
  });
}

function bugCases(add: Cases["add"]): void {
  const nothing = null as unknown as { readonly deep: string };

  add("a bug is retried like any failure, and then blocks: nothing is undone because of it", async (world) => {
    const undone: string[] = [];
    let isBroken = true;
    let runs = 0;
    const definition = saga("bug")
      .step("a", { run: () => {}, undo: () => void undone.push("a") })
      .step("b", {
        run: () => {
          runs++;
          return isBroken ? { text: nothing.deep } : { text: "fine" };
        },
        retry: every(1_000, 3),
      });
    const { id, node } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, execution.blockedReason, execution.failure?.class, runs, undone],
      ["blocked", "bug", "TypeError", 3, []],
    );
    isBroken = false;
    await node.engine.retry(id);
    assert.equal((await world.ended(id)).execution.status, "completed");
  });

  add("what was blocked first stays the failure when it is compensated", async (world) => {
    const definition = saga("bug.compensated")
      .step("a", { run: () => {}, undo: () => {} })
      .step("b", { run: () => ({ text: nothing.deep }), retry: 1 });
    const { id, node } = await world.begin(definition);
    await world.ended(id);
    await node.engine.compensate(id, { reason: "give it up" });
    const { execution } = await world.ended(id);
    assert.deepEqual([execution.status, execution.failure?.class], ["compensated", "TypeError"]);
  });

  add("a bug in an undo blocks, too", async (world) => {
    const definition = saga("bug.undo")
      .step("a", { run: () => {}, undo: () => nothing.deep.length, undoRetry: every(1_000, 2) })
      .step("b", ({ fail }) => fail("no"));
    const { id } = await world.begin(definition);
    const { execution } = await world.ended(id);
    assert.deepEqual(
      [execution.status, execution.blockedReason, execution.direction, execution.failure?.message],
      ["blocked", "bug", "compensate", "no"],
    );
  });

  add("a network that is down is no bug, though fetch says so by a TypeError", async (world) => {
    const definition = saga("bug.fetch").step("a", {
      run: () => {
        throw new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") });
      },
      retry: 1,
    });
    const { id } = await world.begin(definition);
    assert.equal((await world.ended(id)).execution.status, "failed");
  });

  add("isBug is the engine's to choose; one that throws counts as no", async (world) => {
    const definition = saga("bug.own").step("a", {
      run: () => {
        throw new Error("odd");
      },
      retry: 1,
    });
    const own = await world.begin(definition, { node: { isBug: (error) => (error as Error).message === "odd" } });
    assert.equal((await world.ended(own.id)).execution.blockedReason, "bug");
    await world.until(own.worker.stop());
    const throwing = await world.begin(definition, {
      node: {
        isBug: () => {
          throw new Error("too clever");
        },
      },
    });
    assert.equal((await world.ended(throwing.id)).execution.status, "failed");
  });

  add(
    "the last attempt that counts decides: a failure after a bug goes back, a bug after a failure blocks",
    async (world) => {
      for (const last of ["bug", "failure"]) {
        let runs = 0;
        const definition = saga(`bug.last.${last}`).step("a", {
          run: () => {
            if ((++runs === 2) === (last === "bug")) return { text: nothing.deep };
            throw new Error("down");
          },
          retry: every(1_000, 2),
        });
        const { id } = await world.begin(definition);
        assert.equal((await world.ended(id)).execution.status, last === "bug" ? "blocked" : "failed");
      }
    },
  );
}

/** When a step that always fails is begun. */
async function failingTimes(world: World, retry: RetryOptions | undefined): Promise<readonly number[]> {
  const at: number[] = [];
  const definition = saga("retries").step("a", {
    run: () => {
      at.push(world.clock.now());
      throw new Error("no luck");
    },
    ...(retry === undefined ? {} : { retry }),
  });
  const { id } = await world.begin(definition);
  const { execution } = await world.ended(id, "1d");
  assert.deepEqual([execution.status, execution.failure?.message], ["failed", "no luck"]);
  return at;
}

function failing(retry: RetryOptions) {
  const run = (): void => {
    throw new Error("down");
  };
  return { run, retry };
}
