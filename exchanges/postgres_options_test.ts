import assert from "node:assert/strict";
import { isSagaError } from "../src/errors.ts";
import { postgresExchange, type PostgresExchangeOptions } from "./postgres.ts";
import { checkOptions } from "./postgres/options.ts";

const url = "postgres://app:sesame@127.0.0.1:1/shop";

function refusal(options: unknown): string {
  try {
    checkOptions(options as PostgresExchangeOptions);
  } catch (error) {
    if (isSagaError(error, "invalid_options")) return error.message;
    throw error;
  }
  return "accepted";
}

Deno.test("postgresExchange() refuses options with one sentence that says what to do", () => {
  const example = "give one like postgres://user:password@host:5432/database";
  const cases: readonly (readonly [unknown, string])[] = [
    [null, "the options are null"],
    [{}, "give either url or connect"],
    [{ url, connect: () => {} }, "give either url or connect"],
    [{ connect: {} }, "connect is {}; give a function that makes a client of node-postgres"],
    [{ url: 3 }, `url is 3; ${example}`],
    [{ url: "" }, `url cannot be read as a URL; ${example}`],
    [{ url: "http://host" }, `url begins with "http:"; ${example}`],
    [{ url, publishDeadlineMs: 0 }, "publishDeadlineMs is 0; use milliseconds above 0"],
    [{ url, pool: 3 }, 'there is no option "pool"'],
    ...["", "A", "1a", "a b", 'a"', "x".repeat(41), 3].map((channel): [unknown, string] => [
      { url, channel },
      `channel is ${JSON.stringify(channel)}; use 1 to 40 of a-z, 0-9 and _, not beginning with a digit`,
    ]),
  ];
  for (const [options, fact] of cases) {
    assert.equal(refusal(options), `Cannot use the exchange over PostgreSQL: ${fact}`);
  }
});

Deno.test("postgresExchange() never shows a password", async () => {
  for (const wrong of ["postgres//a:sesame@host", "postgres://a:sesame@host:99999", "http://a:sesame@host"]) {
    assert.doesNotMatch(refusal({ url: wrong }), /sesame/);
  }
  const exchange = postgresExchange({ url });
  const { ok, detail } = await exchange.health();
  assert.equal(ok, false);
  assert.match(detail, /PostgreSQL at 127\.0\.0\.1:1\/shop is away/);
  assert.doesNotMatch(detail, /sesame/);
  await exchange.close();
});

Deno.test("postgresExchange() connects at its first use, not before", async () => {
  await postgresExchange({ connect: () => assert.fail("connected") }).close();
});

Deno.test("postgresExchange() without a server is the exchange of one process", async () => {
  const exchange = postgresExchange({ url });
  const hint = { executionId: "a", epoch: 1, partition: "default", step: "charge", direction: "execute" } as const;
  assert.deepEqual([exchange.reaches("default"), await exchange.publish([hint])], [false, ["unreached"]]);
  const received: unknown[] = [];
  const ending = new AbortController();
  await exchange.consume("default", (one) => {
    received.push(one);
    return Promise.resolve("done");
  }, { concurrency: 1, signal: ending.signal });
  assert.deepEqual([exchange.reaches("default"), await exchange.publish([hint])], [true, ["sent"]]);
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(received, [hint]);
  await exchange.close();
});
