import assert from "node:assert/strict";
import { anExecution } from "../../testing/factories.ts";
import type { Logger } from "../logger.ts";
import { base, type SagaEvent, type SagaEventName } from "./events.ts";
import { lineOf, logSubscriber } from "./log_subscriber.ts";

const ABOUT = { ...base(anExecution({ id: "e-1" })), durationMs: 12, reason: null, retriesExhausted: false };

function event(name: SagaEventName, fields: Record<string, unknown> = {}): SagaEvent {
  return { ...ABOUT, resumeCount: 3, signal: "paid", ...fields, name } as unknown as SagaEvent;
}

Deno.test("logSubscriber() writes progress as debug, failures of steps as warn, what needs somebody as error", () => {
  const levels: Partial<Record<SagaEventName, keyof Logger>> = {};
  let name: SagaEventName = "saga.started";
  const at = (level: keyof Logger) => () => void (levels[name] = level);
  const subscriber = logSubscriber({ debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") });
  const names: readonly SagaEventName[] = [
    "saga.started",
    "saga.step.started",
    "saga.step.finished",
    "saga.step.failed",
    "saga.step.skipped",
    "saga.step.abandoned",
    "saga.completed",
    "saga.compensation_started",
    "saga.compensated",
    "saga.failed",
    "saga.compensation_failed",
    "saga.blocked",
    "saga.resumed",
    "saga.retried",
    "saga.signalled",
  ];
  for (const one of names) {
    name = one;
    subscriber(event(one));
  }
  assert.deepEqual(levels, {
    "saga.started": "info",
    "saga.step.started": "debug",
    "saga.step.finished": "debug",
    "saga.step.failed": "warn",
    "saga.step.skipped": "debug",
    "saga.step.abandoned": "warn",
    "saga.completed": "info",
    "saga.compensation_started": "info",
    "saga.compensated": "info",
    "saga.failed": "error",
    "saga.compensation_failed": "error",
    "saga.blocked": "error",
    "saga.resumed": "info",
    "saga.retried": "info",
    "saga.signalled": "info",
  });
});

Deno.test("lineOf() leaves out what is not known", () => {
  const { resumeCount: _count, signal: _signal, ...rest } = event("saga.started") as unknown as Record<string, unknown>;
  const { durationMs: _duration, reason: _reason, retriesExhausted: _exhausted, ...started } = rest;
  assert.equal(
    lineOf(started as unknown as SagaEvent),
    "saga.started execution=e-1 saga=orders.checkout status=running",
  );
});

Deno.test("lineOf() quotes values that a parser would not take as one", () => {
  for (
    const [reason, expected] of [
      ["plain", "reason=plain"],
      ["two words", 'reason="two words"'],
      ["", 'reason=""'],
      ['say "no"', 'reason="say \\"no\\""'],
      ["a=b", 'reason="a=b"'],
      ["line\nbreak", 'reason="line\\nbreak"'],
      ["back\\slash", 'reason="back\\\\slash"'],
      ["ünïcode💥", "reason=ünïcode💥"],
      ["\u0000", 'reason="\\u0000"'],
      ["\u2028", 'reason="\\u2028"'],
      ["\u0085", 'reason="\\u0085"'],
    ] as const
  ) {
    assert.ok(lineOf(event("saga.completed", { reason })).includes(` ${expected} `), expected);
  }
});

Deno.test("lineOf() is one line, whatever an error says", () => {
  const line = lineOf(
    event("saga.step.failed", { errorClass: "Error", errorMessage: "first\r\nsecond\ttab\u0085next" }),
  );
  assert.deepEqual(line.split(/[\r\n\u0085\u2028\u2029]/), [line]);
});
