/**
 * What compiles and what does not. The bodies are never called: `deno check`, which `deno test` runs first, is the test,
 * and an `@ts-expect-error` above a line that compiles fails it.
 */

import type { Json, JsonObject } from "../domain/json.ts";
import type { Definition, ResourceRef } from "./definition.ts";
import type { AllResources, AnyDefinition, ContextOf, InputOf, ResourcesOf, ResourcesOption } from "./inference.ts";
import { saga } from "./saga.ts";
import { typed } from "./schema.ts";

function compiles(_body: () => void): void {}
function is<T>(_value: T): void {}
/** Whether two types are the same one, neither wider nor narrower. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
/** A condition that the compiler does not see through. */
declare const maybe: boolean;

const one = () =>
  saga<{ id: string }>("types").step("one", {
    run: () => ({ count: 1, list: [{ deep: "x" }] }),
    undo: ({ written }) => is<number>(written.count),
  });

Deno.test("undo() knows at compile time what run wrote", () => {
  compiles(() => {
    one().step("two", {
      run: () => ({ charge: "c" }),
      undo: ({ written, context, stepKey }) => {
        is<string>(written.charge);
        is<string>(context.charge);
        is<number>(context.count);
        is<string>(stepKey);
        // @ts-expect-error no such key
        written.nope;
      },
    });
    interface Charge {
      id: string;
      parts: { cents: number }[];
    }
    const charge = (): Promise<Charge> => Promise.reject();
    one().step("two", { run: () => charge(), undo: ({ written }) => is<string>(written.id) });
    one().step("two", { run: () => {}, undo: ({ written }) => is<undefined>(written) });
  });
});

Deno.test("undoOnFailure makes written possibly undefined at compile time", () => {
  compiles(() => {
    one().step("two", {
      undoOnFailure: true,
      run: () => ({ charge: "c" }),
      undo: ({ written }) => {
        is<string | undefined>(written?.charge);
        // @ts-expect-error possibly undefined
        written.charge;
      },
    });
    one().step("two", {
      run: () => ({ charge: "c" }),
      undo: ({ written }) => {
        // @ts-expect-error possibly undefined
        written.charge;
      },
      undoOnFailure: true,
    });
    one().step("two", {
      run: () => ({ charge: "c" }),
      undo: ({ written }) => is<string>(written.charge),
      undoOnFailure: false,
    });
  });
});

Deno.test("step(), sleep() and waitFor() refuse a duplicate name at compile time", () => {
  compiles(() => {
    // @ts-expect-error duplicate
    one().step("one", () => ({ a: 1 }));
    // @ts-expect-error duplicate
    one().transaction("one", () => ({ a: 1 }));
    // @ts-expect-error duplicate
    one().pivot("one", () => ({ a: 1 }));
    // @ts-expect-error duplicate
    one().sleep("one", "3s");
    // @ts-expect-error duplicate
    one().waitFor("one", { schema: typed<{ ok: boolean }>() });
    // @ts-expect-error duplicate of a sleep
    one().sleep("nap", "3s").step("nap", () => {});
  });
});

Deno.test("step() takes a name that is known at run time only, and goes on checking the others", () => {
  compiles(() => {
    const later = one().step(`step_${maybe}` as string, () => ({ a: 1 })).step(
      "two",
      ({ context }) => is<number>(context.a),
    );
    // @ts-expect-error duplicate
    later.step("two", () => {});
  });
});

Deno.test("step() refuses at compile time a result that JSON would lose", () => {
  compiles(() => {
    // @ts-expect-error Date
    one().step("two", () => ({ at: new Date() }));
    // @ts-expect-error Map
    one().step("two", async () => ({ at: await Promise.resolve(new Map<string, string>()) }));
    // @ts-expect-error Set
    one().step("two", () => ({ at: new Set(["a"]) }));
    // @ts-expect-error function in a list
    one().step("two", { run: () => ({ at: [{ f: () => 1 }] }) });
    // @ts-expect-error bigint
    one().step("two", { run: () => Promise.resolve({ at: 1n }) });
    // @ts-expect-error symbol
    one().step("two", { run: () => ({ at: Symbol("a") }) });
    // @ts-expect-error undefined in a list
    one().step("two", { run: () => Promise.resolve({ at: [undefined] }) });
    // @ts-expect-error a promise that was not awaited
    one().step("two", () => ({ at: Promise.resolve(1) }));
    // @ts-expect-error unknown
    one().step("two", () => ({ at: 1 as unknown }));
    // @ts-expect-error one member of a union
    one().step("two", (): { at: string | Date } => ({ at: "now" }));
    // @ts-expect-error one member of a union with JSON
    one().step("two", (): { at: Json | Date } => ({ at: "now" }));
    // @ts-expect-error a verdict inside of a result
    one().step("two", ({ skip }) => ({ at: skip("no need") }));
    // any cannot be refused by a type: it is checked when the program runs.
    one().step("two", { run: () => ({ at: JSON.parse("{}") }) });
  });
});

Deno.test("step() refuses at compile time a result that is no object", () => {
  compiles(() => {
    // @ts-expect-error number
    one().step("two", { run: () => Promise.resolve(3) });
    // @ts-expect-error list
    one().step("two", { run: () => Promise.resolve([1]) });
    // @ts-expect-error text
    one().step("two", { run: () => Promise.resolve("text") });
    // @ts-expect-error null
    one().step("two", () => null);
    // @ts-expect-error Date
    one().step("two", () => new Date());
    // @ts-expect-error a verdict that was not called
    one().step("two", ({ skip }) => skip);
  });
});

Deno.test("step() takes at compile time whatever JSON keeps", () => {
  compiles(() => {
    interface Tree {
      name: string;
      kids: Tree[];
      up?: Tree;
    }
    type OrderId = string & { readonly brand: "OrderId" };
    const json = null as Json;
    const object = {} as JsonObject;
    one()
      .step("optional", (): { a?: string } => ({}))
      .step("optional_undefined", (): { b?: string | undefined } => ({}))
      .step("recursive", () => ({ tree: { name: "root", kids: [] } as Tree }))
      .step("branded", () => ({ order: "a" as OrderId }))
      .step("tuple", () => ({ pair: ["a", 1] as [string, number] }))
      .step("json", () => ({ json, object, list: [{ deep: "y" }] }))
      .step("words_of_lists", () => ({ length: 3, name: "x", size: 2 }))
      .step("all", ({ context }) => {
        is<string | undefined>(context.a);
        is<string | undefined>(context.tree.kids[0]!.up?.name);
        is<OrderId>(context.order);
        is<readonly [string, number]>(context.pair);
        is<Json>(context.json);
        is<number>(context.length);
      });
    saga<JsonObject>("any_object").step("a", ({ context }) => ({ a: context.b ?? null }));
  });
});

Deno.test("step() refuses at compile time a key that is rewritten with another type", () => {
  compiles(() => {
    // @ts-expect-error rewritten
    one().step("two", () => ({ count: "text" }));
    // @ts-expect-error rewritten by the payload of a signal
    one().waitFor("count", { schema: typed<{ ok: boolean }>() });
    // @ts-expect-error the input is a part of the context
    one().step("two", () => ({ id: 3 }));
  });
});

Deno.test("step() rewrites a key with another value of its type", () => {
  compiles(() => {
    one()
      .step("two", ({ context }) => ({ count: context.count + 1, state: "reserved", done: false }))
      .step("three", () => ({ state: "paid", done: true }))
      .step("four", ({ context }) => {
        is<Same<typeof context.state, string>>(true);
        is<Same<typeof context.done, boolean>>(true);
      });
    one()
      .step("two", () => ({ state: "open" as "open" | "closed" }))
      .step("three", () => ({ state: "closed" as const }));
    // @ts-expect-error none of the declared words
    one().step("two", () => ({ state: "open" as "open" | "closed" })).step("three", () => ({ state: "lost" }));
  });
});

Deno.test("context is read-only to its leaves at compile time", () => {
  compiles(() => {
    one().step("two", ({ context, input }) => {
      // @ts-expect-error read-only
      context.count = 2;
      // @ts-expect-error read-only
      context.list.push({ deep: "x" });
      // @ts-expect-error read-only
      context.list[0]!.deep = "y";
      // @ts-expect-error read-only
      input.id = "other";
    });
  });
});

Deno.test("skip() makes the keys of the step optional at compile time, fail() and complete() do not", () => {
  compiles(() => {
    one()
      .step("two", {
        run: ({ skip }) => maybe ? skip("no need") : { gift: "g" },
        undo: ({ written }) => is<string>(written.gift),
      })
      .step("three", ({ context }) => {
        is<string | undefined>(context.gift);
        // @ts-expect-error may have been skipped
        is<string>(context.gift);
      });
    one()
      .step("two", { run: ({ fail, complete }) => maybe ? fail("no") : maybe ? complete() : { gift: "g" } })
      .step("three", ({ context }) => is<string>(context.gift));
    one()
      .step("two", {
        run: async ({ skip, fail }) => {
          await Promise.resolve();
          if (maybe) return skip("no need");
          if (maybe) return fail("no");
          return { gift: "g" };
        },
      })
      .step("three", ({ context }) => is<string | undefined>(context.gift));
  });
});

Deno.test("a step that may return nothing adds optional keys at compile time", () => {
  compiles(() => {
    one()
      .step("two", {
        run: () => maybe ? { gift: "g" } : undefined,
        undo: ({ written }) => {
          // @ts-expect-error may be undefined
          written.gift;
        },
      })
      .step("three", ({ context }) => {
        // @ts-expect-error may be undefined
        is<string>(context.gift);
      });
  });
});

Deno.test("undo() is offered no complete() at compile time", () => {
  compiles(() => {
    one().step("two", {
      run: () => ({ a: 1 }),
      // @ts-expect-error no complete in an undo
      undo: ({ complete }) => complete("x"),
    });
    one().step("two", { run: () => ({ a: 1 }), undo: ({ skip, fail }) => maybe ? skip() : fail("x") });
  });
});

Deno.test("pivot() ends at compile time what can be undone", () => {
  compiles(() => {
    const past = one().pivot("ship", { run: ({ context }) => ({ parcel: context.id }) });
    past.step("after", { run: ({ context }) => is<string>(context.parcel), retry: 3, timeout: "1s", lease: "1m" });
    past.step("after", {
      run: () => ({ a: 1 }),
      // @ts-expect-error no undo after the pivot
      undo: () => {},
    });
    past.transaction("after", {
      run: () => ({ a: 1 }),
      // @ts-expect-error no undo after the pivot
      undo: () => {},
    });
    past.step("after", {
      run: () => ({ a: 1 }),
      // @ts-expect-error nothing to retry after the pivot
      undoRetry: 3,
    });
    past.step("after", {
      run: () => ({ a: 1 }),
      // @ts-expect-error no undo after the pivot
      undoOnFailure: true,
    });
    // @ts-expect-error two pivots
    past.pivot("again", { run: () => {} });
    // @ts-expect-error the pivot has no undo
    one().pivot("ship", { run: () => {}, undo: () => {} });
  });
});

Deno.test("transaction() gives tx to run and undo at compile time, and refuses undoOnFailure", () => {
  compiles(() => {
    one().transaction("pay", async ({ tx }) => {
      await tx.query("update orders set paid = true where id = ?", ["1"]);
    });
    one().transaction("pay", {
      run: async ({ tx }) => {
        await tx.query("update orders set paid = true where id = ?", ["1"]);
        return { paid: true };
      },
      undo: ({ tx, written }) => tx.query("update orders set paid = ?", [written.paid]),
    });
    one().transaction("pay", {
      run: () => {},
      // @ts-expect-error what fails is rolled back
      undoOnFailure: true,
    });
    // @ts-expect-error a step has no tx
    one().step("pay", ({ tx }) => tx.query("select 1"));
  });
});

Deno.test("options that do not exist are refused at compile time", () => {
  compiles(() => {
    // @ts-expect-error typo
    one().step("two", { run: () => {}, retries: 3 });
    // @ts-expect-error typo
    one().step("two", { run: () => {}, retry: { attempt: 3 } });
    // @ts-expect-error options take the place of the function
    one().step("two", () => {}, { retry: 3 });
    // @ts-expect-error typo
    saga("b", { versions: 1 });
    // @ts-expect-error typo
    one().waitFor("b", { time: "1h" });
  });
});

Deno.test("durations without a unit that exists are refused at compile time", () => {
  compiles(() => {
    one().sleep("nap", "15m").sleep("blink", 250).sleep("second", "1.5s");
    // @ts-expect-error no such unit
    one().sleep("nap", "15 minutes");
    // @ts-expect-error no unit
    one().sleep("nap", "15");
    // @ts-expect-error no such unit
    one().step("two", { run: () => {}, timeout: "3w" });
  });
});

Deno.test("saga() refuses an input at compile time that is no object or that JSON would lose", () => {
  compiles(() => {
    // @ts-expect-error Date
    saga<{ at: Date }>("b");
    // @ts-expect-error list
    saga<string[]>("b");
    // @ts-expect-error text
    saga<string>("b");
  });
});

Deno.test("saga() infers its input from a schema", () => {
  compiles(() => {
    const inferred = saga("b", { input: typed<{ id: string }>() }).step("a", ({ input }) => ({ b: input.id }));
    is<Same<InputOf<typeof inferred>, { id: string }>>(true);
    is<ContextOf<typeof inferred>>({ id: "1", b: "2" });
    // @ts-expect-error another input than the schema's
    saga<{ id: number }>("b", { input: typed<{ id: string }>() });
  });
});

Deno.test("waitFor() types its payload by the schema, and as JSON without one", () => {
  compiles(() => {
    one()
      .waitFor("fraud_check", { schema: typed<{ ok: boolean }>(), timeout: "1h" })
      .waitFor("note")
      .step("two", ({ context }) => {
        is<boolean>(context.fraud_check.ok);
        is<Json>(context.note);
        // @ts-expect-error read-only
        context.fraud_check.ok = true;
      });
  });
});

interface Stock {
  reserve(id: string): Promise<string>;
}

const stocked = () =>
  saga<{ id: string }, { stock: Stock }>("stocked")
    .resource((reference, { stock }) => ({ id: reference.id, stock }))
    .step("one", async ({ resources, resource }) => ({ x: await resources.stock.reserve(resource.id) }));
const mailing = () =>
  saga<{ id: string }, { mail: { send(): void } }>("mailing").step("one", ({ resources }) => resources.mail.send());
const plain = () => saga<{ id: string; cents: number }>("plain").step("one", () => {});

/** An engine, as far as its types go. */
declare function engineOf<const D extends readonly AnyDefinition[]>(
  options: { definitions: D } & ResourcesOption<D[number]>,
): {
  start<S extends D[number]>(definition: S, options: { input: InputOf<S>; resource?: ResourceRef }): void;
};

Deno.test("an engine needs at compile time the resources of all its definitions together", () => {
  compiles(() => {
    const stock: Stock = { reserve: (id) => Promise.resolve(id) };
    // @ts-expect-error resources missing
    engineOf({ definitions: [stocked()] });
    // @ts-expect-error mail missing
    engineOf({ definitions: [stocked(), mailing()], resources: { stock } });
    engineOf({ definitions: [stocked(), mailing()], resources: { stock, mail: { send() {} } } });
    engineOf({ definitions: [plain()] });
    engineOf({ definitions: [] });
    is<AllResources<ReturnType<typeof stocked> | ReturnType<typeof mailing>>>({ stock, mail: { send() {} } });
    is<Same<ResourcesOf<ReturnType<typeof stocked>>, { stock: Stock }>>(true);
  });
});

Deno.test("an engine starts at compile time its own definitions with their input", () => {
  compiles(() => {
    const checkout = plain();
    const engine = engineOf({ definitions: [checkout] });
    engine.start(checkout, { input: { id: "1", cents: 3 }, resource: { type: "Order", id: "0" } });
    // @ts-expect-error cents missing
    engine.start(checkout, { input: { id: "1" } });
    // @ts-expect-error not registered
    engine.start(stocked(), { input: { id: "1" } });
    // @ts-expect-error resource ids are text
    engine.start(checkout, { input: { id: "1", cents: 3 }, resource: { type: "Order", id: 0 } });
  });
});

Deno.test("resource() types the scope, and is refused at compile time after a step", () => {
  compiles(() => {
    stocked().step("two", ({ resource }) => is<string>(resource.id));
    one().step("two", ({ resource }) => is<null>(resource));
    // @ts-expect-error after a step
    one().resource((reference) => reference.id);
  });
});

Deno.test("a saga is a Definition at compile time, and a definition without types takes any input", () => {
  compiles(() => {
    const definition: Definition = one();
    is<InputOf<typeof definition>>({ anything: 1 });
    is<ResourcesOption<typeof definition>>({});
    is<readonly AnyDefinition[]>([definition, one(), stocked()]);
  });
});
