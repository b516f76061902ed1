import assert from "node:assert/strict";
import { isBug } from "./bug.ts";

function thrownBy(code: () => unknown): unknown {
  try {
    code();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

const nothing = undefined as unknown as Record<string, () => void> & Iterable<unknown>;

const BUGS: Readonly<Record<string, () => unknown>> = {
  "a name that is not defined": () => (globalThis as unknown as { eval(code: string): void }).eval("missing()"),
  "a call of no function": () => ({} as Record<string, () => void>).missing!(),
  "a property of undefined": () => nothing.missing,
  "a property set on undefined": () => nothing.missing = () => {},
  "a destructured undefined": () => {
    const { missing } = nothing;
    return missing;
  },
  "what is not iterable": () => [...({} as Iterable<unknown>)],
  "what is no constructor": () => new (1 as unknown as new () => void)(),
  "a frozen object that is changed": () => (Object.freeze({ a: 1 }) as { a: number }).a = 2,
  "a frozen object that is added to": () => (Object.freeze({}) as { a?: number }).a = 2,
  "a frozen object that is deleted from": () => delete (Object.freeze({ a: 1 }) as { a?: number }).a,
  "undefined that is made an object": () => Object.entries(nothing),
  "a stack overflow": function overflow(): unknown {
    return [overflow()];
  },
  "an assertion": () => assert.equal(1, 2),
};

for (const [name, code] of Object.entries(BUGS)) {
  Deno.test(`isBug() tells a fault of the code: ${name}`, () => assert.equal(isBug(thrownBy(code)), true));
}

const FAILURES: Readonly<Record<string, unknown>> = {
  "an error of the business": new Error("the card was declined"),
  "a network outage, which fetch reports as a TypeError": new TypeError("fetch failed", {
    cause: new Error("refused"),
  }),
  "a TypeError with a cause, whatever its text": new TypeError("x is not a function", { cause: 1 }),
  "a TypeError of a library": new TypeError("Expected a number"),
  "a RangeError of another kind": new RangeError("Invalid array length"),
  "text": "is not a function",
  "null": null,
  "an object that looks like one": { name: "ReferenceError", message: "x is not defined" },
};

for (const [name, thrown] of Object.entries(FAILURES)) {
  Deno.test(`isBug() takes for no fault of the code: ${name}`, () => assert.equal(isBug(thrown), false));
}

Deno.test("isBug() G26: never throws, whatever was thrown", () => {
  const hostile = new Proxy(new Error("x"), {
    get() {
      throw new Error("get");
    },
    getPrototypeOf() {
      throw new Error("getPrototypeOf");
    },
  });
  assert.equal(isBug(hostile), false);
});
