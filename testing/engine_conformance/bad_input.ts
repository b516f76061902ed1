/** What people pass in by mistake: refused where the mistake is made, with the path, the value and what to do. */

import assert from "node:assert/strict";
import { saga } from "../../src/definition/saga.ts";
import type { AnyDefinition } from "../../src/definition/inference.ts";
import type { StandardSchema } from "../../src/definition/schema.ts";
import type { SagaErrorCode } from "../../src/errors.ts";
import { anExecution } from "../factories.ts";
import { type Cases, range, rejects } from "./suite.ts";
import type { World } from "./world.ts";

type Engine = ReturnType<World["node"]>["engine"];
type Row = readonly [what: string, make: () => unknown, code: SagaErrorCode, path?: string | RegExp];

const HEAVY = "x".repeat(5 * 1_048_576);

/** Inputs that cannot be kept, or are none. */
const INPUTS: readonly Row[] = [
  ["undefined", () => undefined, "invalid_input", "$"],
  ["null", () => null, "invalid_input", "$"],
  ["text", () => "order", "invalid_input", "$"],
  ["a number", () => 7, "invalid_input", "$"],
  ["a list", () => [], "invalid_input", "$"],
  ["a Date", () => new Date(), "not_storable", "$"],
  ["a Map", () => new Map(), "not_storable", "$"],
  ["a class instance", () => new (class Order {})(), "not_storable", "$"],
  ["a Date inside", () => ({ at: new Date() }), "not_storable", "$.at"],
  ["a BigInt inside", () => ({ cents: 1n }), "not_storable", "$.cents"],
  ["a function inside", () => ({ f: () => 1 }), "not_storable", "$.f"],
  ["a symbol inside", () => ({ s: Symbol() }), "not_storable", "$.s"],
  ["undefined in a list", () => ({ list: [1, undefined] }), "not_storable", "$.list[1]"],
  ["NaN", () => ({ n: NaN }), "not_storable", "$.n"],
  ["Infinity", () => ({ n: Infinity }), "not_storable", "$.n"],
  ["a cycle", () => {
    const value: Record<string, unknown> = {};
    value.self = value;
    return value;
  }, "not_storable"],
  ["a depth of 200", () => ({ deep: range(200).reduce<unknown>((inner) => [inner], 1) }), "not_storable"],
  ["5 MB", () => ({ heavy: HEAVY }), "not_storable", "$"],
  ["a getter that throws", () => ({
    get odd() {
      throw new Error("no");
    },
  }), "not_storable"],
];

/** Options of a start. */
const STARTS: readonly Row[] = [
  ["an unknown key", () => ({ idd: "x" }), "invalid_options", "options.idd"],
  ["an empty id", () => ({ id: "" }), "invalid_options"],
  ["a blank id", () => ({ id: "  " }), "invalid_options"],
  ["a numeric id", () => ({ id: 7 }), "invalid_options"],
  ["an id that is too long", () => ({ id: "x".repeat(256) }), "invalid_options"],
  ["an id with NUL", () => ({ id: "a\u0000b" }), "invalid_options"],
  ["an id with a line break", () => ({ id: "a\nb" }), "invalid_options"],
  ["an id with half a surrogate pair", () => ({ id: "\ud800" }), "invalid_options"],
  ["an empty active key", () => ({ activeKey: "" }), "invalid_options"],
  ["a partition with a dot", () => ({ partition: "a.b" }), "invalid_options", "options.partition"],
  ["a partition with #", () => ({ partition: "#" }), "invalid_options", "options.partition"],
  ["a partition with *", () => ({ partition: "*" }), "invalid_options", "options.partition"],
  ["a partition with a space", () => ({ partition: "a b" }), "invalid_options", "options.partition"],
  ["an empty partition", () => ({ partition: "" }), "invalid_options", "options.partition"],
  ["a time that is NaN", () => ({ at: NaN }), "invalid_options", "options.at"],
  ["a time that is no date", () => ({ at: new Date("never") }), "invalid_options", "options.at"],
  ["a time as text", () => ({ at: "tomorrow" }), "invalid_options", "options.at"],
  ["a time beyond all dates", () => ({ at: 1e300 }), "invalid_options", "options.at"],
  ["a resource without an id", () => ({ resource: { type: "Order" } }), "invalid_options"],
  ["a resource without a type", () => ({ resource: { id: "7" } }), "invalid_options"],
  ["a resource with an empty id", () => ({ resource: { type: "Order", id: "" } }), "invalid_options"],
  ["a resource that is text", () => ({ resource: "Order/7" }), "invalid_options"],
  ["a resource that is null", () => ({ resource: null }), "invalid_options"],
  ["a trace with a line break", () => ({ trace: "a\nb" }), "invalid_options"],
];

/** Options of an engine. */
const ENGINES: readonly Row[] = [
  ["an unknown key", () => ({ leese: 1 }), "invalid_options", "options.leese"],
  ["a lease below a second", () => ({ lease: 999 }), "invalid_options", "options.lease"],
  ["a lease of 0", () => ({ lease: 0 }), "invalid_options", "options.lease"],
  ["a lease as a bare number in text", () => ({ lease: "30" }), "invalid_options", "options.lease"],
  ["a lease that is NaN", () => ({ lease: NaN }), "invalid_options", "options.lease"],
  ["a lease that is null", () => ({ lease: null }), "invalid_options", "options.lease"],
  ["a lease beyond ten years", () => ({ lease: "99999d" }), "invalid_options", "options.lease"],
  ["a negative sweep interval", () => ({ sweepInterval: -1 }), "invalid_options", "options.sweepInterval"],
  ["a sweep interval of a millisecond", () => ({ sweepInterval: 1 }), "invalid_options", "options.sweepInterval"],
  ["no resumes at all", () => ({ maxResumes: 0 }), "invalid_options", "options.maxResumes"],
  ["one and a half resumes", () => ({ maxResumes: 1.5 }), "invalid_options", "options.maxResumes"],
  ["a limit of JSON as text", () => ({ maxJsonBytes: "4MB" }), "invalid_options", "options.maxJsonBytes"],
  ["isBug that is no function", () => ({ isBug: true }), "invalid_options", "options.isBug"],
];

/** Options of a worker. */
const WORKERS: readonly Row[] = [
  ["an unknown key", () => ({ lanes: {} }), "invalid_options", "options.lanes"],
  ["no partition", () => ({ partitions: {} }), "invalid_options", "options.partitions"],
  ["partitions as a list", () => ({ partitions: ["default"] }), "invalid_options"],
  ["partitions that are null", () => ({ partitions: null }), "invalid_options", "options.partitions"],
  ["a partition with a dot", () => ({ partitions: { "a.b": {} } }), "invalid_options", /options\.partitions/],
  ["a concurrency of 0", () => ({ partitions: { a: { concurrency: 0 } } }), "invalid_options", /concurrency$/],
  ["a concurrency of 1.5", () => ({ partitions: { a: { concurrency: 1.5 } } }), "invalid_options", /concurrency$/],
  ["a concurrency as text", () => ({ partitions: { a: { concurrency: "10" } } }), "invalid_options", /concurrency$/],
  [
    "a concurrency that is huge",
    () => ({ partitions: { a: { concurrency: 1e9 } } }),
    "invalid_options",
    /concurrency$/,
  ],
  ["an unknown key of a partition", () => ({ partitions: { a: { conc: 1 } } }), "invalid_options", /conc$/],
  ["an empty name", () => ({ name: "" }), "invalid_options"],
];

const ODD_NUMBERS: readonly unknown[] = [-1, 0, NaN, 1.5, "3", null, 1e12, Infinity, 1n];

/** Options of resumeStuck and prune. `LIMIT -1` means all to SQLite. */
const RESUMES: readonly Row[] = [
  ["an unknown key", () => ({ older: 1 }), "invalid_options", "options.older"],
  ...ODD_NUMBERS.map((n): Row => [`a limit of ${String(n)}`, () => ({ limit: n }), "invalid_options", "options.limit"]),
  ...ODD_NUMBERS.map((n): Row => [
    `maxResumes of ${String(n)}`,
    () => ({ maxResumes: n }),
    "invalid_options",
    "options.maxResumes",
  ]),
  ...[-1, NaN, "15", null, Infinity, "15 minutes", 1e300].map((n): Row => [
    `olderThan of ${String(n)}`,
    () => ({ olderThan: n }),
    "invalid_options",
    "options.olderThan",
  ]),
  ["an unknown way to give up", () => ({ giveUp: "delete" }), "invalid_options", "options.giveUp"],
  ["no partitions", () => ({ partitions: [] }), "invalid_options", "options.partitions"],
  ["a partition with #", () => ({ partitions: ["#"] }), "invalid_options", "options.partitions[0]"],
];

const PRUNES: readonly Row[] = [
  ["nothing", () => undefined, "invalid_options", "options.finishedBefore"],
  ["an unknown key", () => ({ finishedBefore: 0, before: 1 }), "invalid_options", "options.before"],
  ...ODD_NUMBERS.map((n): Row => [
    `a limit of ${String(n)}`,
    () => ({ finishedBefore: 0, limit: n }),
    "invalid_options",
    "options.limit",
  ]),
  ...[NaN, "yesterday", null, 1e300, new Date("never"), Infinity].map((at): Row => [
    `finishedBefore of ${String(at)}`,
    () => ({ finishedBefore: at }),
    "invalid_options",
    "options.finishedBefore",
  ]),
  ["a status that is not finished", () => ({ finishedBefore: 0, statuses: ["running"] }), "invalid_options"],
  ["an unknown status", () => ({ finishedBefore: 0, statuses: ["done"] }), "invalid_options", "options.statuses"],
  ["no statuses", () => ({ finishedBefore: 0, statuses: [] }), "invalid_options", "options.statuses"],
];

/** Ids, as every operation takes them. */
const IDS: readonly unknown[] = [undefined, null, 7, "", " ", "a\u0000b", "x".repeat(256), {}, ["a"]];

/** Registers the cases. */
export function badInputCases({ add }: Cases): void {
  add("start() refuses what cannot be an input, with the path", async (world) => {
    const definition = saga<Record<string, never>>("bad.input").step("a", () => {});
    const { engine } = world.node([definition]);
    await refusesAll(INPUTS, (make) => engine.start(definition, { input: make() as Record<string, never> }));
  });

  add("start() refuses options that make no sense, with the path", async (world) => {
    const definition = saga("bad.start").step("a", () => {});
    const { engine } = world.node([definition]);
    await refusesAll(STARTS, (make) => engine.start(definition, { input: {}, ...make() as object }));
    for (const options of [undefined, null, 7, []]) {
      await assert.rejects(engine.start(definition, options as never), { name: "SagaError" }, String(options));
    }
  });

  add("start() makes text of a resource's numeric id, 0 included", async (world) => {
    const definition = saga("bad.resource").step("a", () => {});
    const { engine } = world.node([definition]);
    for (const [id, expected] of [[0, "0"], [42, "42"], ["7", "7"]] as const) {
      const { execution } = await engine.start(definition, {
        input: {},
        resource: { type: "Order", id: id as string },
      });
      assert.equal(execution.resourceId, expected);
    }
  });

  add("start() of a saga that loads its resource wants one", async (world) => {
    const definition = saga("bad.loads").resource(() => ({ x: 1 })).step("a", () => {});
    const { engine } = world.node([definition]);
    await rejects(engine.start(definition, { input: {} }), "invalid_options", { path: "options.resource" });
  });

  add("start() refuses what is no definition of this engine", async (world) => {
    const known = saga("bad.known").step("a", () => {});
    const { engine } = world.node([known]);
    const start = engine.start.bind(engine) as (definition: unknown, options: unknown) => Promise<unknown>;
    for (
      const other of [saga("bad.other").step("a", () => {}), saga("bad.known", { version: 2 }).step("a", () => {})]
    ) {
      await rejects(start(other, { input: {} }), "unknown_definition");
    }
    for (const nonsense of [undefined, null, "bad.known", 7, {}, () => {}]) {
      await rejects(start(nonsense, { input: {} }), "unknown_definition");
    }
  });

  add("start() with a schema stores what it makes of the input, and refuses what it does not accept", async (world) => {
    const schema: StandardSchema<{ n: number }> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) => {
          const n = Number((value as { n?: unknown }).n);
          return Number.isInteger(n) ? { value: { n } } : { issues: [{ message: "must be whole", path: ["n"] }] };
        },
      },
    };
    const definition = saga("bad.schema", { input: schema }).step("a", () => {});
    const { engine } = world.node([definition]);
    const { execution } = await engine.start(definition, { input: { n: "7" as unknown as number } });
    assert.deepEqual(execution.input, { n: 7 });
    await rejects(engine.start(definition, { input: { n: 1.5 } }), "invalid_input", { path: "$.n" });
  });

  add("a start that is refused stores nothing", async (world) => {
    const definition = saga("bad.nothing").step("a", () => {});
    const node = world.node([definition]);
    await rejects(node.engine.start(definition, { input: null as never, id: "nothing" }), "invalid_input");
    assert.deepEqual([node.count("insert"), await node.engine.get("nothing")], [0, null]);
  });

  add("an engine refuses options that make no sense, with the path", async (world) => {
    const definition = saga("bad.engine").step("a", () => {});
    await refusesAll(ENGINES, (make) => world.node([definition], make() as object));
  });

  add("an engine refuses what are no definitions, and one name and version twice", async (world) => {
    const definition = saga("bad.twice").step("a", () => {});
    const make = (definitions: unknown) => () => world.node(definitions as readonly AnyDefinition[]);
    await rejects(make([definition, saga("bad.twice").step("b", () => {})]), "duplicate_definition");
    await rejects(make([saga("bad.empty")]), "invalid_definition");
    await rejects(make([{ ...definition, plan: null, name: "x" }]), "invalid_definition");
  });

  add("a worker refuses options that make no sense, with the path", async (world) => {
    const { engine } = world.node([saga("bad.worker").step("a", () => {})]);
    await refusesAll(WORKERS, (make) => engine.work(make() as object));
  });

  add("resumeStuck() refuses limits and times that make no sense", async (world) => {
    const { engine } = world.node([saga("bad.resume").step("a", () => {})]);
    await refusesAll(RESUMES, (make) => engine.resumeStuck(make() as object));
  });

  add("prune() refuses limits, times and statuses that make no sense, and deletes nothing", async (world) => {
    const { id, node } = await world.begin(saga("bad.prune").step("a", () => {}));
    await world.ended(id);
    await world.advance("1h");
    await refusesAll(PRUNES, (make) => node.engine.prune(make() as never));
    assert.equal((await node.engine.get(id))?.status, "completed");
  });

  add("every operation refuses what is no id", async (world) => {
    const { engine } = world.node([saga("bad.ids").step("a", () => {})]);
    const calls: readonly ((id: string) => Promise<unknown>)[] = [
      (id) => engine.get(id),
      (id) => engine.wait(id),
      (id) => engine.attempts(id),
      (id) => engine.signals(id),
      (id) => engine.operations(id),
      (id) => engine.signal(id, "go"),
      (id) => engine.retry(id),
      (id) => engine.compensate(id),
      (id) => engine.skipStep(id),
      (id) => engine.terminate(id),
      (id) => engine.rerun(id),
      (id) => engine.compensationPlan(id),
      (id) => engine.dispatch(id),
      (id) => engine.explain(id),
    ];
    for (const call of calls) {
      for (const id of IDS) await rejects(() => call(id as string), "invalid_options");
    }
  });

  add("operations refuse unknown options, actors and reasons that are no text", async (world) => {
    const definition = saga("bad.operations").step("a", () => world.gate("a").pass());
    const { id, node } = await world.begin(definition);
    const calls: readonly ((engine: Engine, options: never) => Promise<unknown>)[] = [
      (engine, options) => engine.retry(id, options),
      (engine, options) => engine.compensate(id, options),
      (engine, options) => engine.skipStep(id, options),
      (engine, options) => engine.terminate(id, options),
      (engine, options) => engine.signal(id, "go", null, options),
      (engine, options) => engine.rerun(id, options),
    ];
    const engine = node.engine as unknown as Engine;
    for (const call of calls) {
      for (const options of [{ who: "ann" }, 7, "ann", null, [], { actor: 7 }, { reason: {} }, { actor: "" }]) {
        await rejects(() => call(engine, options as never), "invalid_options");
      }
    }
    assert.equal((await world.execution(id)).request, null);
    world.gate("a").open();
    await world.ended(id);
  });

  add("operations refuse an epoch that is no number", async (world) => {
    const { id, node } = await world.begin(saga("bad.epoch").step("a", ({ fail }) => fail("no")));
    await world.ended(id);
    for (const epoch of [NaN, "1", null, 1.5, -1]) {
      await rejects(node.engine.retry(id, { epoch: epoch as number }), "invalid_options", { path: "options.epoch" });
    }
  });

  add("a reason may be long, and is kept in a length that every store takes", async (world) => {
    const { id, node } = await world.begin(saga("bad.reason").step("a", ({ fail }) => fail("no")));
    await world.ended(id);
    await node.engine.retry(id, { actor: "ann", reason: "because\n".repeat(2_000) + "\u0000\ud800" });
    const [operation] = await world.operations(id);
    assert.ok((operation?.reason?.length ?? 0) > 0 && operation!.reason!.length <= 2_000);
    assert.ok(operation?.reason?.isWellFormed() && !operation.reason.includes("\0"));
    await world.ended(id);
  });

  add("signal() refuses names, payloads and ids that make no sense", async (world) => {
    const { id, node } = await world.begin(saga("bad.signal").waitFor("go"));
    const { engine } = node;
    for (const name of [undefined, null, 7, "", " ", "a\nb", "x".repeat(256)]) {
      await rejects(engine.signal(id, name as string), "invalid_options");
    }
    for (const payload of [1n, NaN, new Date(), () => 1, Symbol(), [undefined], HEAVY]) {
      await rejects(engine.signal(id, "go", payload as never), "not_storable");
    }
    for (const signalId of ["", 7, null, "x".repeat(256)]) {
      await rejects(engine.signal(id, "go", null, { signalId: signalId as string }), "invalid_options");
    }
    assert.equal((await world.execution(id)).signalsSeen, 0);
    await engine.signal(id, "go", undefined);
    assert.deepEqual((await world.ended(id)).execution.context, { go: null });
  });

  add("wait() and stop() refuse options that make no sense", async (world) => {
    const { id, node, worker } = await world.begin(saga("bad.wait").waitFor("go"));
    for (const options of [{ timeout: 5 }, 7, null, { signal: "abort" }, { throughBlocked: "yes" }]) {
      await rejects(node.engine.wait(id, options as never), "invalid_options");
    }
    for (const options of [{ deadline: -1 }, { deadline: "soon" }, { within: 1 }, null, 7]) {
      await rejects(() => worker.stop(options as never), "invalid_options");
    }
    await node.engine.signal(id, "go");
    assert.equal((await world.ended(id)).execution.status, "completed");
  });

  add("on() refuses what is no event or no listener", async (world) => {
    const { engine } = world.node([saga("bad.on").step("a", () => {})]);
    await rejects(() => engine.on("saga.finished" as "*", () => {}), "invalid_options");
    await rejects(() => engine.on("*", "log" as never), "invalid_options");
  });

  add("an execution of a saga that nobody knows stops no worker", async (world) => {
    const now = world.clock.now();
    await world.store.insert(
      range(3).map((n) =>
        anExecution({
          id: `stranger-${n}`,
          sagaName: "nobody.knows",
          startedAt: now,
          lastProgressAt: now,
          dueAt: now,
          wakeAt: now,
        })
      ),
    );
    const definition = saga("bad.known.one").step("a", () => {});
    const { id, node } = await world.begin(definition);
    await world.ended(id);
    await node.engine.dispatch("stranger-0");
    await world.advance("1m");
    const { status, attempt } = await world.execution("stranger-0");
    assert.deepEqual([status, attempt, node.lines("error")], ["running", 0, []]);
  });
}

/** Each row is refused with its code, and with the path in the details and the message, if the row names one. */
async function refusesAll(rows: readonly Row[], act: (make: () => unknown) => unknown): Promise<void> {
  for (const [what, make, code, path] of rows) {
    try {
      const error = await rejects(async () => await act(make), code);
      if (typeof path === "string") assert.equal(error.details.path, path);
      else if (path !== undefined) assert.match(error.details.path ?? "", path);
      assert.ok(error.message.length < 1_000, "values are shortened");
    } catch (error) {
      throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
    }
  }
}
