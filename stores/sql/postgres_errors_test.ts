import assert from "node:assert/strict";
import { SagaError } from "../../src/errors.ts";
import { breaksConnection, refusalOf, translateError, troubleOf } from "./postgres_errors.ts";
import type { Trouble } from "./trouble.ts";

function anError(code: string | undefined, message = "it did not work"): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

const TROUBLES: readonly [Error, Trouble][] = [
  [anError("40001"), "conflict"],
  [anError("40P01"), "conflict"],
  [anError("55P03"), "conflict"],
  [anError("0A000", "cached plan must not change result type"), "conflict"],
  [anError("0A000", "not supported"), "other"],
  [anError("08006"), "lost"],
  [anError("57P01"), "lost"],
  [anError("ECONNRESET"), "lost"],
  [anError("EPIPE"), "lost"],
  [anError("CONNECTION_CLOSED"), "lost"],
  [anError(undefined, "Connection terminated unexpectedly"), "lost"],
  [anError(undefined, "Query read timeout"), "lost"],
  [anError("57014"), "unavailable"],
  [anError("53300"), "unavailable"],
  [anError("28P01"), "unavailable"],
  [anError("25006"), "read_only"],
  [anError("53100"), "full"],
  [anError("23505"), "refused"],
  [anError("22P05"), "refused"],
  [anError("54000"), "refused"],
  [anError("42P01"), "schema_missing"],
  [anError("42703"), "schema_missing"],
  [anError("42P07"), "name_taken"],
  [anError("3F000"), "schema_missing"],
  [anError("26000"), "pooled"],
  [anError("42P05"), "pooled"],
  [anError("42601"), "other"],
  [anError(undefined), "other"],
  [new SagaError("closed", "Cannot use it: the connection was lost, a timeout"), "other"],
];

for (const [error, trouble] of TROUBLES) {
  const { code = "an error without a code" } = error as { code?: string };
  Deno.test(`troubleOf() says of ${code}, "${error.message}", that it is ${trouble}`, () => {
    assert.equal(troubleOf(error), trouble);
  });
}

Deno.test("a connection is thrown away after what tells of it, and kept after all else", () => {
  const codes = ["57P01", "ECONNRESET", "26000", "40001", "23505", "57014", "42601"];
  assert.deepEqual(codes.filter((code) => breaksConnection(anError(code))), ["57P01", "ECONNRESET", "26000"]);
});

Deno.test("refusalOf() says which row was refused", () => {
  const error = Object.assign(anError("23505", "duplicate key"), { detail: "Key (id)=(a) already exists." });
  assert.equal(refusalOf(error), "duplicate key (Key (id)=(a) already exists.)");
  assert.equal(refusalOf(anError("40001")), null);
});

Deno.test("translateError() leaves alone what says nothing of the database", () => {
  for (const error of [new TypeError("no"), new SagaError("closed", "Cannot"), "text", undefined]) {
    assert.equal(translateError(error, "the database"), error);
  }
});
