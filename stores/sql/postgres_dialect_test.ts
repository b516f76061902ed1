import assert from "node:assert/strict";
import { arrayOf, postgresDialect } from "./postgres_dialect.ts";

Deno.test("text() numbers the parameters and names our tables with their schema, and nothing else", () => {
  const { text } = postgresDialect('a"b');
  assert.equal(
    text("create index saga_executions_wake on saga_executions (id) where saga_execution_id = ? or id = ?"),
    'create index saga_executions_wake on "a""b".saga_executions (id) where saga_execution_id = $1 or id = $2',
  );
});

Deno.test("text() without a schema leaves the tables to the search path", () => {
  assert.equal(postgresDialect(null).text("select ? from leveret_schema"), "select $1 from leveret_schema");
});

Deno.test("arrayOf() writes what PostgreSQL reads as an array", () => {
  const values = ["a", 'b"\\', "", "NULL", null, 7, -0.5, "line\nbreak\t", "é😀\u2028", "{x,y}"];
  assert.equal(arrayOf(values), '{"a","b\\"\\\\","","NULL",NULL,7,-0.5,"line\nbreak\t","é😀\u2028","{x,y}"}');
});

Deno.test("encodeInstant() keeps microseconds, and refuses what is beyond an exact number of them", () => {
  const { encodeInstant } = postgresDialect(null);
  assert.deepEqual(
    [1_767_225_600_000.123, 0, -0.001, 9_007_199_254_740, 9_007_199_254_741, NaN].map(encodeInstant),
    [1_767_225_600_000_123, 0, -1, 9_007_199_254_740_000, null, null],
  );
});
