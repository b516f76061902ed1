import assert from "node:assert/strict";
import { isSagaError } from "../src/errors.ts";
import { assertRefusesLimits } from "./fixtures/pair.ts";
import { mysqlStore, type MysqlStoreOptions } from "./mysql.ts";

const URL_ = "mysql://root@127.0.0.1:1/shop";

Deno.test("mysqlStore() refuses options that are wrong, names them, and shows no password", () => {
  const pool = { getConnection: () => Promise.reject(new Error("not asked")) };
  const wrong: readonly [unknown, RegExp][] = [
    [null, /null is no object.*url/],
    [undefined, /undefined is no object.*url/],
    ["mysql://root:sesame@127.0.0.1/shop", /a text is no object.*url/],
    [{}, /either url or pool/],
    [{ url: URL_, pool }, /either url or pool/],
    [{ url: "" }, /url: .*mysql:/],
    [{ url: 7 }, /url/],
    [{ url: "postgres://root:sesame@127.0.0.1/shop" }, /url/],
    [{ url: "mysql://root:sesame@127.0.0.1" }, /url: .*database/],
    [{ pool: {} }, /pool/],
    [{ url: URL_, poolSize: 2 }, /poolSize: 2 /],
    [{ url: URL_, poolSize: 3.5 }, /poolSize: 3.5/],
    [{ url: URL_, poolSize: NaN }, /poolSize: NaN/],
    [{ pool: { ...pool, config: { connectionLimit: 1 } } }, /poolSize: 1 /],
    [{ url: URL_, uri: URL_ }, /"uri"/],
  ];
  for (const [options, message] of wrong) {
    assert.throws(
      () => mysqlStore(options as MysqlStoreOptions),
      (error) =>
        isSagaError(error, "invalid_options") && message.test(error.message) && !error.message.includes("sesame"),
      JSON.stringify(options),
    );
  }
});

Deno.test("claimDue(), prune() and unserved() of MySQL refuse limits that are no whole number from 1", () =>
  assertRefusesLimits(mysqlStore({ url: URL_ })));
