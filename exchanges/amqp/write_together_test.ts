import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { Writable } from "node:stream";
import { writeTogether } from "./write_together.ts";

/** A stream that notes what reaches its end together. */
function noting(options: { readonly highWaterMark?: number } = {}) {
  const sent: string[][] = [];
  const stream = new Writable({
    ...options,
    write(chunk, _encoding, done) {
      sent.push([String(chunk)]);
      setImmediate(done);
    },
    writev(chunks, done) {
      sent.push(chunks.map(({ chunk }) => String(chunk)));
      setImmediate(done);
    },
  });
  writeTogether(stream);
  return { stream, sent };
}

Deno.test("writeTogether() sends what is written at once as one, in order", async () => {
  const { stream, sent } = noting();
  for (const one of ["a", "b", "c"]) stream.write(Buffer.from(one));
  assert.deepEqual(sent, []);
  await Promise.resolve();
  assert.deepEqual(sent, [["a", "b", "c"]]);
});

Deno.test("writeTogether() sends a lone write before anything else can happen", async () => {
  const { stream, sent } = noting();
  stream.write("a");
  await Promise.resolve();
  assert.deepEqual(sent, [["a"]]);
});

Deno.test("writeTogether() tells of a full stream, and when it has room again", async () => {
  const { stream, sent } = noting({ highWaterMark: 2 });
  assert.equal(stream.write("a"), true);
  assert.equal(stream.write("b"), false);
  await once(stream, "drain");
  assert.deepEqual(sent, [["a", "b"]]);
});

Deno.test("writeTogether() sends what was written before the end", async () => {
  const { stream, sent } = noting();
  stream.write("a");
  stream.end("b");
  await once(stream, "finish");
  assert.deepEqual(sent.flat(), ["a", "b"]);
});
