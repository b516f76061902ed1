import assert from "node:assert/strict";
import { isSagaError, SagaError } from "../../src/errors.ts";
import { hasNumber, isTaken, refusalOf, translateError, troubleOf } from "./mysql_errors.ts";

function driverError(fields: object, message = "said by the server"): Error {
  return Object.assign(new Error(message), fields);
}

Deno.test("troubleOf() knows the driver's errors by their number, code or words", () => {
  const known: readonly [Error, string][] = [
    [driverError({ errno: 1213, code: "ER_LOCK_DEADLOCK" }), "conflict"],
    [driverError({ errno: 1205 }), "conflict"],
    [driverError({ errno: 1020 }), "conflict"],
    [driverError({ errno: 3101 }), "conflict"],
    [driverError({ errno: 1927 }), "lost"],
    [driverError({ code: "PROTOCOL_CONNECTION_LOST", fatal: true }), "lost"],
    [driverError({ code: "ECONNREFUSED", errno: -111 }), "lost"],
    [driverError({ fatal: true }, "Can't add new command when connection is in closed state"), "lost"],
    [driverError({}, "Pool is closed."), "lost"],
    [driverError({ errno: 1045 }), "unavailable"],
    [driverError({ errno: 1290 }, "The server is running with the --secure-file-priv option"), "unavailable"],
    [driverError({ errno: 1290 }, "The MariaDB server is running with the --read-only option"), "read_only"],
    [driverError({ errno: 1114 }), "full"],
    [driverError({ errno: 1030 }, "Got error 28 from storage engine InnoDB"), "full"],
    [driverError({ errno: 3 }, "Error writing file '/tmp/x' (Errcode: 28 \"No space left on device\")"), "full"],
    [driverError({ errno: 1062 }), "refused"],
    [driverError({ errno: 1146 }), "schema_missing"],
    [driverError({ errno: 1064 }), "other"],
    [new TypeError("x is not a function"), "other"],
  ];
  assert.deepEqual(known.map(([error]) => troubleOf(error)), known.map(([, trouble]) => trouble));
});

Deno.test("troubleOf() looks beneath what wraps a driver's error", () => {
  const wrapped = new Error("Failed query", { cause: driverError({ errno: 1062 }) });
  assert.deepEqual([troubleOf(wrapped), isTaken(wrapped), hasNumber(wrapped, 1213)], ["refused", true, false]);
});

Deno.test("translateError() leaves alone what says nothing of the database", () => {
  const own = new SagaError("closed", "Cannot use the store: it was closed");
  const other = new TypeError("x");
  assert.equal(translateError(own, "the database"), own);
  assert.equal(translateError(other, "the database"), other);
  assert.equal(refusalOf(other), null);
});

Deno.test("translateError() tells which database, what it said, and keeps the cause", () => {
  const cause = driverError({ errno: 1040 }, "Too many connections");
  const translated = translateError(cause, 'the MySQL database "db/shop"');
  assert.ok(isSagaError(translated, "store_unavailable"));
  assert.equal(translated.message, 'Cannot use the MySQL database "db/shop": Too many connections');
  assert.equal(translated.cause, cause);
});
