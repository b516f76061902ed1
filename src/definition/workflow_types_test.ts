/**
 * What compiles and what does not of a workflow. The bodies are never called: `deno check`, which `deno test` runs first,
 * is the test, and an `@ts-expect-error` above a line that compiles fails it.
 */

import type { Json } from "../domain/json.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/options.ts";
import type { Flow } from "./flow.ts";
import type { AllResources, ContextOf, InputOf, OutputOf, ResourcesOf, ResourcesOption } from "./inference.ts";
import { saga } from "./saga.ts";
import { typed } from "./schema.ts";
import { workflow } from "./workflow.ts";

function compiles(_body: () => void): void {}
function is<T>(_value: T): void {}
/** Whether two types are the same one, neither wider nor narrower. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
/** A condition that the compiler does not see through. */
declare const maybe: boolean;
declare const flow: Flow;
declare const engine: Engine;

Deno.test("step() gives what its code returned, and null for nothing, at compile time", () => {
  compiles(async () => {
    const made = await flow.step("a", () => ({ count: 1, list: [{ deep: "x" }] }));
    is<Same<typeof made, { count: number; list: { deep: string }[] }>>(true);
    const later = await flow.step("b", () => Promise.resolve({ at: "now" }));
    is<string>(later.at);
    const plain = await flow.step("c", () => 7);
    is<Same<typeof plain, number>>(true);
    const nothing = await flow.step("d", () => {});
    is<Same<typeof nothing, null>>(true);
    const perhaps = await flow.step("e", ({ skip }) => maybe ? { a: 1 } : skip("no need"));
    is<Same<typeof perhaps, { a: number } | null>>(true);
    const failing = await flow.step("f", ({ fail }) => maybe ? { a: 1 } : fail("no"));
    is<number>(failing.a);
    // @ts-expect-error no such key
    made.nope;
  });
});

Deno.test("undo() knows at compile time what run returned", () => {
  compiles(() => {
    flow.step("a", () => ({ charge: "c" }), {
      undo: ({ written, stepKey }) => {
        is<string>(written.charge);
        is<string>(stepKey);
        // @ts-expect-error no such key
        written.nope;
      },
    });
    flow.step("b", () => {}, { undo: ({ written }) => is<null>(written) });
    flow.step("c", () => ({ charge: "c" }), {
      undoOnFailure: true,
      undo: ({ written }) => {
        is<string | undefined>(written?.charge);
        // @ts-expect-error possibly undefined
        written.charge;
      },
    });
    flow.transaction("d", () => 7, { undo: ({ tx, written }) => tx.query("…", [written.toFixed()]) });
    flow.parallel("e", (p) => ({
      x: p.step(() => "x", { undo: ({ written }) => is<string>(written) }),
      y: p.transaction(() => [1], { undo: ({ tx, written }) => tx.query("…", written) }),
    }));
    // @ts-expect-error a transaction that failed has left nothing
    flow.transaction("f", () => 7, { undoOnFailure: true });
    // @ts-expect-error after the pivot nothing is undone
    flow.pivot("g", () => 7, { undo: () => {} });
    // @ts-expect-error only a transaction has a transaction
    flow.step("h", ({ tx }) => void tx);
    // @ts-expect-error a step does not complete its workflow
    flow.step("i", ({ complete }) => complete("done"));
  });
});

Deno.test("steps refuse at compile time a result that JSON would lose", () => {
  compiles(() => {
    // @ts-expect-error Date
    flow.step("a", () => ({ at: new Date() }));
    // @ts-expect-error Date by itself
    flow.step("a", () => new Date());
    // @ts-expect-error Map
    flow.step("a", async () => ({ at: await Promise.resolve(new Map<string, string>()) }));
    // @ts-expect-error function in a list
    flow.transaction("a", () => [{ f: () => 1 }]);
    // @ts-expect-error bigint
    flow.pivot("a", () => 1n);
    // @ts-expect-error undefined in a list
    flow.step("a", () => [undefined]);
    // @ts-expect-error unknown
    flow.step("a", () => ({ at: 1 as unknown }));
    // @ts-expect-error one member of a union
    flow.step("a", (): { at: string | Date } => ({ at: "now" }));
    // @ts-expect-error a verdict inside of a result
    flow.step("a", ({ skip }) => ({ at: skip("no need") }));
    // @ts-expect-error a branch
    flow.parallel("a", (p) => ({ x: p.step(() => ({ at: new Date() })) }));
    // any cannot be refused by a type: it is checked when the program runs.
    flow.step("a", () => ({ at: JSON.parse("{}") }));
    flow.step("a", (): { at?: string } => ({}));
    flow.step("a", () => ({ at: null as Json }));
  });
});

Deno.test("parallel() gives what its branches returned, by name, at compile time", () => {
  compiles(async () => {
    const both = await flow.parallel("a", (p) => ({
      text: p.step(() => "x"),
      nothing: p.step(() => {}),
      list: p.transaction(({ tx }) => tx.query("…").then((rows) => rows.length)),
    }), { concurrency: 2, failFast: false });
    is<Same<typeof both.text, string>>(true);
    is<Same<typeof both.nothing, null>>(true);
    is<Same<typeof both.list, number>>(true);
    // @ts-expect-error no branches
    flow.parallel("a", () => ({ x: 1 }));
    // @ts-expect-error no such option
    flow.parallel("a", (p) => ({ x: p.step(() => 1) }), { limit: 2 });
  });
});

Deno.test("waits are typed by their schema, and sleeps by their duration, at compile time", () => {
  compiles(async () => {
    const payload = await flow.waitFor("a", { schema: typed<{ ok: boolean }>(), timeout: "3d" });
    is<Same<typeof payload, { ok: boolean }>>(true);
    const any = await flow.waitFor("b");
    is<Same<typeof any, Json>>(true);
    const first = await flow.waitForAny("c", ["yes", "no"], { schema: typed<number>() });
    is<number>(first.payload);
    is<string>(first.signal);
    const slept = await flow.sleep("d", "1h");
    is<Same<typeof slept, void>>(true);
    // @ts-expect-error no duration
    flow.sleep("e", "one hour");
    // @ts-expect-error a wait for any names its signals in the list
    flow.waitForAny("f", ["yes"], { signal: "no" });
  });
});

Deno.test("workflow() types its input and its output", () => {
  compiles(async () => {
    const definition = workflow("types", async (flow, input: { id: string }) => {
      const { n } = await flow.step("a", () => ({ n: input.id.length }));
      return { n, list: [n] };
    });
    is<Same<InputOf<typeof definition>, { id: string }>>(true);
    is<Same<OutputOf<typeof definition>, { n: number; list: number[] }>>(true);
    is<Same<ContextOf<typeof definition>, { id: string }>>(true);
    const nothing = workflow("types", async (flow) => void await flow.sleep("a", "1s"));
    is<Same<OutputOf<typeof nothing>, null>>(true);
    const perhaps = workflow("types", () => maybe ? Number("1") : undefined);
    is<Same<OutputOf<typeof perhaps>, number | null>>(true);
    const checked = workflow("types", { input: typed<{ n: number }>(), deadline: "1h" }, (_flow, input) => input.n);
    is<Same<InputOf<typeof checked>, { n: number }>>(true);
    is<Same<OutputOf<typeof checked>, number>>(true);
    // @ts-expect-error an output that JSON would lose
    workflow("types", () => new Date());
    // @ts-expect-error an output that JSON would lose, asynchronously
    workflow("types", async () => ({ at: await Promise.resolve(new Set<string>()) }));
    // @ts-expect-error an input that JSON would lose
    workflow("types", (_flow, input: { at: Date }) => input.at.getTime());
    // @ts-expect-error no such option
    workflow("types", { retries: 3 }, () => {});
    // @ts-expect-error no function
    workflow("types", {});
    const own = engine as unknown as Engine<[typeof definition]>;
    await own.start(definition, { input: { id: "1" } });
    // @ts-expect-error another input
    await own.start(definition, { input: { id: 1 } });
    // @ts-expect-error no input
    await own.start(definition, {});
  });
});

Deno.test("call() types what it hands over and what comes back", () => {
  compiles(async () => {
    const child = workflow("child", (_flow, input: { n: number }) => ({ double: input.n * 2 }));
    const sums = saga<{ n: number }>("sums").step("square", ({ context }) => ({ square: context.n ** 2 }));
    const { double } = await flow.call(child, { n: 1 });
    is<Same<typeof double, number>>(true);
    const context = await flow.call(sums, { n: 1 }, { name: "again", partition: "slow" });
    is<number>(context.square);
    // @ts-expect-error another input
    flow.call(child, { n: "1" });
    // @ts-expect-error no input
    flow.call(child);
    // @ts-expect-error no definition
    flow.call("child", { n: 1 });
  });
});

Deno.test("hooks are typed by their event, and have a transaction", () => {
  compiles(() => {
    flow.on("completed", ({ tx, key }) => tx.query("…", [key]));
    flow.on("compensated", () => {});
    // @ts-expect-error no such event
    flow.on("failed", () => {});
    // @ts-expect-error a hook undoes nothing
    flow.on("compensated", ({ written }) => void written);
    is<never>(flow.abort("no"));
  });
});

interface Mailer {
  send(to: string): void;
}

Deno.test("an engine without what a workflow needs does not compile", () => {
  compiles(() => {
    const mails = workflow("mails", async (flow: Flow<{ mailer: Mailer }>) => {
      await flow.step("a", ({ resources }) => resources.mailer.send("ann"), {
        undo: ({ resources }) => resources.mailer.send("ben"),
      });
      await flow.parallel("b", (p) => ({ x: p.step(({ resources }) => resources.mailer.send("cay")) }));
    });
    const needs = workflow("clock", async (flow: Flow<{ clock: () => number }>) => {
      await flow.step("a", ({ resources }) => resources.clock());
    });
    const plain = workflow("plain", async (flow) => {
      await flow.step("a", () => {});
    });
    is<Same<ResourcesOf<typeof mails>, { mailer: Mailer }>>(true);
    is<AllResources<typeof mails | typeof needs>>({ mailer: { send() {} }, clock: () => 1 });
    is<ResourcesOption<typeof plain>>({});
    // @ts-expect-error missing
    is<ResourcesOption<typeof mails>>({});
    is<ResourcesOption<typeof mails>>({ resources: { mailer: { send() {} } } });
    // @ts-expect-error one of two
    is<EngineOptions<[typeof mails, typeof needs]>["resources"]>({ mailer: { send() {} } });
    // @ts-expect-error no such resource
    flow.step("a", ({ resources }) => resources.mailer);
  });
});
