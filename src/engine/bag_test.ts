import assert from "node:assert/strict";
import { Bag } from "./bag.ts";

function thing(name: string) {
  return { name, place: -1 };
}

Deno.test("Bag holds what was put in and not taken out, whichever was taken out", () => {
  for (const out of ["a", "b", "c", "ac", "ca", "bc", "abc"]) {
    const bag = new Bag<ReturnType<typeof thing>>();
    const things = new Map(["a", "b", "c"].map((name) => [name, bag.add(thing(name))]));
    for (const name of out) assert.ok(bag.remove(things.get(name)!));
    assert.deepEqual(bag.items.map(({ name }) => name).sort(), [..."abc"].filter((name) => !out.includes(name)));
    assert.equal(bag.size, 3 - out.length);
  }
});

Deno.test("Bag.remove() says that a thing was out already, and takes out no other", () => {
  const bag = new Bag<ReturnType<typeof thing>>();
  const [first, second] = [thing("first"), thing("second")];
  bag.remove(bag.add(first));
  bag.add(second);
  assert.equal(bag.remove(first), false);
  assert.deepEqual(bag.items, [second]);
});

Deno.test("Bag.clear() takes everything out", () => {
  const bag = new Bag<ReturnType<typeof thing>>();
  const one = bag.add(thing("one"));
  bag.clear();
  assert.equal(bag.remove(one), false);
  assert.equal(bag.size, 0);
});
