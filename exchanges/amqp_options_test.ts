import assert from "node:assert/strict";
import { isSagaError } from "../src/errors.ts";
import { amqpExchange, type AmqpExchangeOptions } from "./amqp.ts";
import { checkOptions } from "./amqp/options.ts";

const url = "amqp://guest:secret@127.0.0.1:1/vhost";

function refusal(options: unknown): string {
  try {
    checkOptions(options as AmqpExchangeOptions);
  } catch (error) {
    if (isSagaError(error, "invalid_options")) return error.message;
    throw error;
  }
  return "accepted";
}

Deno.test("amqpExchange() refuses options with one sentence that says what to do", () => {
  const example = "give one like amqp://user:password@host:5672/vhost";
  const cases: readonly (readonly [unknown, string])[] = [
    [null, "the options are null"],
    [{}, `url is undefined; ${example}`],
    [{ url: 3 }, `url is 3; ${example}`],
    [{ url: "" }, `url cannot be read as a URL; ${example}`],
    [{ url: "localhost:secret" }, `url begins with "localhost:"; ${example}`],
    [{ url: "http://host" }, `url begins with "http:"; ${example}`],
    [{ url: "amqp://" }, `url names no host; ${example}`],
    [
      { url: "amqp://a:100%@host" },
      "url has a % that encodes nothing; write %25 for a percent sign in a name or password",
    ],
    [
      { url: "amqp://host?heartbeat=soon" },
      'the heartbeat in url is "soon"; use whole seconds from 0 to 9999',
    ],
    [{ url, heartbeat: 3 }, 'there is no option "heartbeat"'],
    [{ url, queueType: "stream" }, 'queueType is "stream"; use "quorum" or "classic"'],
    [{ url, publishDeadlineMs: 0 }, "publishDeadlineMs is 0; use milliseconds above 0"],
    [{ url, publishDeadlineMs: NaN }, "publishDeadlineMs is NaN; use milliseconds above 0"],
    ...["", "a b", "amq.saga", "#", "x".repeat(33), 3].map((prefix): [unknown, string] => [
      { url, prefix },
      `prefix is ${JSON.stringify(prefix)}; ` +
      'use 1 to 32 letters (A-Z, a-z), digits, dots, _ or -, not beginning with "amq."',
    ]),
  ];
  for (const [options, fact] of cases) assert.equal(refusal(options), `Cannot use RabbitMQ: ${fact}`);
});

Deno.test("amqpExchange() never shows a password", () => {
  for (const wrong of ["amqp//a:secret@host", "amqp://a:secret@host:99999", "http://a:secret@host"]) {
    assert.doesNotMatch(refusal({ url: wrong }), /secret/);
  }
  assert.equal(checkOptions({ url }).where, "127.0.0.1:1/vhost");
});

Deno.test("amqpExchange() asks for a heartbeat unless the URL does", () => {
  assert.equal(checkOptions({ url }).url, `${url}?heartbeat=10`);
  assert.equal(checkOptions({ url: `${url}?heartbeat=0` }).url, `${url}?heartbeat=0`);
});

Deno.test("amqpExchange() connects at its first use, not before", async () => {
  await amqpExchange({ url }).close();
});

Deno.test("amqpExchange() refuses a partition whose queue would be an error queue", async () => {
  const exchange = amqpExchange({ url });
  const options = { concurrency: 1, signal: new AbortController().signal };
  const consuming = exchange.consume("error", () => Promise.resolve("done"), options);
  await assert.rejects(consuming, (error) => isSagaError(error, "invalid_options"));
  assert.equal(exchange.reaches("error"), false);
  const hint = { executionId: "1", epoch: 1, partition: "error", step: "a", direction: "execute" } as const;
  assert.deepEqual(await exchange.publish([hint]), ["unreached"]);
  await exchange.close();
});
