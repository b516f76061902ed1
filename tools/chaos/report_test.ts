import assert from "node:assert/strict";
import { audit } from "../kill/audit.ts";
import { type Circumstances, conclude, textOf } from "./report.ts";

const GOOD = audit({ records: [], entries: [], faults: [] });

const CIRCUMSTANCES: Circumstances = {
  options: {
    store: "postgres",
    exchange: "local",
    broker: null,
    seconds: 60,
    seed: 7,
    processes: 4,
    startsPerSecond: 10,
    turnedDown: 0.3,
    failing: 0.02,
  },
  broker: null,
  executions: 600,
  done: [
    { kind: "backends_killed", count: 3, fault: { worker: null, at: 0, until: 0 } },
    { kind: "backends_killed", count: 2, fault: { worker: null, at: 0, until: 0 } },
  ],
  least: { backends_killed: 5 },
  longestStandMs: 0,
  allowedPauseMs: 6_000,
  setUp: {},
  complaints: 0,
  tookMs: 60_500,
};

Deno.test("conclude() counts backends one by one, and finds nothing broken where all is kept", () => {
  const { broken, faults, ok } = conclude(GOOD, CIRCUMSTANCES);
  assert.deepEqual({ broken, faults, ok }, { broken: [], faults: { backends_killed: 5 }, ok: true });
});

Deno.test("conclude() names each promise that was broken", () => {
  const keys = ["order-1:charge_card"];
  const { broken, ok } = conclude({ ...GOOD, doubles: keys, lost: keys, left: keys, longestPauseMs: 6_001 }, {
    ...CIRCUMSTANCES,
    least: { backends_killed: 6 },
  });
  assert.deepEqual({ broken, ok }, {
    broken: [
      "1 double effects",
      "1 lost effects",
      "1 missing undos",
      "an execution stood still for 6001 ms after the last fault",
      "only 5 × backends_killed, not 6: the run shows too little",
    ],
    ok: false,
  });
});

Deno.test("textOf() says what was broken, and of which keys", () => {
  const report = conclude({ ...GOOD, doubles: ["order-1:charge_card"] }, CIRCUMSTANCES);
  assert.match(textOf(report), /NOT as promised: 1 double effects\n {2}doubles: order-1:charge_card$/);
  assert.match(textOf(conclude(GOOD, CIRCUMSTANCES)), /\n\nEverything as promised\.$/);
});
