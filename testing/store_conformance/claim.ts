/** Cases of `claimDue()`, `nextWake()` and `touch()`. */

import assert from "node:assert/strict";
import { changeOf } from "../../src/domain/change.ts";
import type { Execution, Status } from "../../src/domain/record.ts";
import type { Claimed, ClaimOptions, WakeFilter } from "../../src/store.ts";
import { anExecution, LEASE_MS, T0 } from "../factories.ts";
import type { Cases } from "./suite.ts";
import { arrange, commitOne, executionOf, range } from "./suite.ts";

const HOUR_MS = 3_600_000;

const FILTER: WakeFilter = {
  partitions: ["default"],
  definitions: [{ name: "orders.checkout", version: 1 }],
  takeOver: true,
};

function options(fields: Partial<ClaimOptions> = {}): ClaimOptions {
  return { ...FILTER, now: T0, limit: 10, patienceMs: 60_000, counted: true, ...fields };
}

function idsOf(claimed: readonly Claimed[]): readonly string[] {
  return claimed.map((claim) => claim.executionId);
}

/** An execution that is to be looked at, and due, `ms` after T0. */
function dueIn(id: string, ms: number, fields: Partial<Execution> = {}): Execution {
  return anExecution({ id, dueAt: T0 + ms, wakeAt: T0 + ms, ...fields });
}

export function claimCases({ add }: Cases): void {
  handingOut(add);
  order(add);
  filters(add);
  patience(add);
  nextWakes(add);
  touches(add);
}

function handingOut(add: Cases["add"]): void {
  add("claimDue() tells what it hands out as it is after the claim", async ({ first, second }) => {
    const row = anExecution({ epoch: 3, currentStep: "charge", resumeCount: 2 });
    await arrange(first, row);
    assert.deepEqual(await second.claimDue(options()), [
      { executionId: "execution-1", epoch: 3, partition: "default", currentStep: "charge", resumeCount: 3 },
    ]);
    assert.deepEqual(await executionOf(first), { ...row, resumeCount: 3, wakeAt: T0 + 240_000 });
  });

  add("claimDue() does not raise the revision: a commit made before it still applies", async ({ first }) => {
    await arrange(first, anExecution());
    await first.claimDue(options());
    assert.deepEqual(await commitOne(first, changeOf(anExecution(), {})), { kind: "committed" });
  });

  add("claimDue() hands out what is to be looked at now or before, and nothing that comes later", async ({ first }) => {
    await arrange(
      first,
      dueIn("past", -5_000),
      dueIn("just past", -0.001),
      dueIn("now", 0),
      dueIn("just later", 0.001),
      dueIn("later", 5_000),
    );
    assert.deepEqual(idsOf(await first.claimDue(options())), ["past", "just past", "now"]);
  });

  add("claimDue() looks at the wake time, not at the due time", async ({ first }) => {
    await arrange(
      first,
      anExecution({ id: "due, not to be looked at", dueAt: T0 - 1_000, wakeAt: T0 + 1_000 }),
      anExecution({ id: "due, never to be looked at", dueAt: T0 - 1_000, wakeAt: null }),
      anExecution({ id: "to be looked at, not due", dueAt: T0 + 1_000, wakeAt: T0 - 1_000 }),
      anExecution({ id: "to be looked at, no due time", dueAt: null, wakeAt: T0 - 500 }),
    );
    const claimed = await first.claimDue(options());
    assert.deepEqual(idsOf(claimed), ["to be looked at, not due", "to be looked at, no due time"]);
  });

  add("claimDue() leaves what it handed out alone until its new wake time", async ({ first, second }) => {
    await arrange(first, anExecution());
    assert.equal((await first.claimDue(options())).length, 1);
    assert.deepEqual(await second.claimDue(options({ now: T0 + 59_999 })), []);
    assert.equal((await second.claimDue(options({ now: T0 + 60_000 }))).length, 1);
  });

  add("claimDue() hands out each execution to one of two connections only", async ({ first, second }) => {
    const ids = range(120).map((index) => `execution-${String(index).padStart(3, "0")}`);
    await arrange(first, ...ids.map((id) => anExecution({ id })));
    const answers = await Promise.all(
      range(12).map((turn) => (turn % 2 === 0 ? first : second).claimDue(options({ limit: 15 }))),
    );
    let claimed = answers.flatMap(idsOf);
    // A store may pass over what another call is about to take; what is left then is handed out afterwards.
    while (claimed.length <= ids.length) {
      const rest = idsOf(await first.claimDue(options({ limit: 15 })));
      if (rest.length === 0) break;
      claimed = [...claimed, ...rest];
    }
    assert.deepEqual(claimed.toSorted(), ids);
  });

  const parked: readonly Status[] = ["completed", "compensated", "failed", "compensation_failed", "blocked"];
  for (const status of parked) {
    add(`claimDue() hands out nothing that is ${status}, unless a request waits there`, async ({ first }) => {
      const request = { action: "compensate", actor: null, reason: null, at: T0 } as const;
      await arrange(first, anExecution({ id: "at rest", status }));
      await arrange(first, anExecution({ id: "asked", status, request, wakeAt: T0 }));
      assert.deepEqual(idsOf(await first.claimDue(options())), ["asked"]);
    });
  }

  add("claimDue() finds what a commit made due, and no longer what a commit put off", async ({ first, second }) => {
    await arrange(first, dueIn("a", 5_000), dueIn("b", 0));
    await commitOne(second, changeOf(dueIn("a", 5_000), { wakeAt: T0 }));
    await commitOne(second, changeOf(dueIn("b", 0), { wakeAt: T0 + 5_000 }));
    assert.deepEqual(idsOf(await first.claimDue(options())), ["a"]);
  });
}

function order(add: Cases["add"]): void {
  add("claimDue() hands out the oldest wake time first", async ({ first }) => {
    const delays = [-40, -10, -50, -20, -30, -45.5, -45.501];
    await arrange(first, ...delays.map((ms) => dueIn(`${ms}`, ms)));
    const claimed = await first.claimDue(options({ limit: 5 }));
    assert.deepEqual(idsOf(claimed), ["-50", "-45.501", "-45.5", "-40", "-30"]);
    assert.deepEqual(idsOf(await first.claimDue(options())), ["-20", "-10"]);
  });

  add("claimDue() hands out as many as the limit says", async ({ first }) => {
    await arrange(first, ...range(25).map((index) => dueIn(`execution-${index}`, -index)));
    const sizes: number[] = [];
    for (const limit of [1, 7, 10, 10, 10]) sizes.push((await first.claimDue(options({ limit }))).length);
    assert.deepEqual(sizes, [1, 7, 10, 7, 0]);
  });

  add("claimDue() goes round the partitions: one with thousands does not delay another", async ({ first }) => {
    const crowd = range(3_000).map((index) => dueIn(`crowd-${index}`, -10_000 - index, { partition: "crowded" }));
    await arrange(first, ...crowd);
    await arrange(first, ...range(3).map((index) => dueIn(`quiet-${index}`, -3 + index, { partition: "quiet" })));
    await arrange(first, ...range(3).map((index) => dueIn(`calm-${index}`, -3 + index, { partition: "calm" })));
    const partitions = ["crowded", "quiet", "calm"];
    const claimed = idsOf(await first.claimDue(options({ partitions, limit: 9 })));
    const from = (lane: string) => claimed.filter((id) => id.startsWith(lane));
    assert.deepEqual([from("crowd"), from("quiet"), from("calm")], [
      ["crowd-2999", "crowd-2998", "crowd-2997"],
      ["quiet-0", "quiet-1", "quiet-2"],
      ["calm-0", "calm-1", "calm-2"],
    ]);
  });

  add("claimDue() gives what a partition leaves of its share to the others", async ({ first }) => {
    await arrange(first, ...range(20).map((index) => dueIn(`crowd-${index}`, -100 - index, { partition: "crowded" })));
    await arrange(first, dueIn("quiet", -1, { partition: "quiet" }));
    const claimed = idsOf(await first.claimDue(options({ partitions: ["crowded", "quiet"], limit: 10 })));
    assert.deepEqual([claimed.length, claimed.includes("quiet")], [10, true]);
  });
}

function filters(add: Cases["add"]): void {
  add("claimDue() and nextWake() see the partitions that they are asked about", async ({ first }) => {
    await arrange(
      first,
      dueIn("a", -3, { partition: "a" }),
      dueIn("b", -2, { partition: "b" }),
      dueIn("A", -1, { partition: "A" }),
    );
    assert.equal(await first.nextWake({ ...FILTER, partitions: ["b", "A"] }), T0 - 2);
    assert.deepEqual(idsOf(await first.claimDue(options({ partitions: ["b"] }))), ["b"]);
    assert.deepEqual(idsOf(await first.claimDue(options({ partitions: ["c"] }))), []);
    assert.deepEqual(idsOf(await first.claimDue(options({ partitions: [] }))), []);
    assert.equal(await first.nextWake({ ...FILTER, partitions: [] }), null);
    assert.deepEqual(idsOf(await first.claimDue(options({ partitions: ["a", "A", "a"] }))).toSorted(), ["A", "a"]);
  });

  add("claimDue() and nextWake() see the definitions that they are asked about, name and version", async (stores) => {
    const { first } = stores;
    const ship = { name: "orders.ship", version: 2 };
    await arrange(
      first,
      dueIn("checkout 1", -4),
      dueIn("checkout 2", -3, { sagaVersion: 2 }),
      dueIn("ship 1", -2, { sagaName: "orders.ship" }),
      dueIn("ship 2", -1, { sagaName: "orders.ship", sagaVersion: 2 }),
    );
    assert.equal(await first.nextWake({ ...FILTER, definitions: [ship] }), T0 - 1);
    assert.deepEqual(idsOf(await first.claimDue(options({ definitions: [ship, ship] }))), ["ship 2"]);
    assert.deepEqual(idsOf(await first.claimDue(options({ definitions: [] }))), []);
    assert.equal(await first.nextWake({ ...FILTER, definitions: [] }), null);
    const definitions = [...FILTER.definitions, { name: "orders.ship", version: 1 }];
    assert.deepEqual(idsOf(await first.claimDue(options({ definitions }))), ["checkout 1", "ship 1"]);
  });

  add("claimDue() takes a hundred definitions in ten partitions", async ({ first }) => {
    const definitions = range(100).map((index) => ({ name: `saga_${index}`, version: index + 1 }));
    const partitions = range(10).map((index) => `lane_${index}`);
    await arrange(
      first,
      ...definitions.map(({ name, version }, index) =>
        dueIn(name, -index, { sagaName: name, sagaVersion: version, partition: partitions[index % 10]! })
      ),
    );
    const claimed = await first.claimDue(options({ definitions, partitions, limit: 200 }));
    assert.deepEqual(idsOf(claimed).toSorted(), definitions.map((definition) => definition.name).toSorted());
  });

  add("claimDue() and nextWake() see open attempts whose lease has ended with takeOver only", async ({ first }) => {
    const open = anExecution({ id: "open", owner: "worker-1/a" });
    await arrange(first, open, dueIn("idle", LEASE_MS + 5));
    const filter = { ...FILTER, takeOver: false };
    const now = T0 + LEASE_MS + 10;
    assert.equal(await first.nextWake(filter), T0 + LEASE_MS + 5);
    assert.equal(await first.nextWake(FILTER), T0 + LEASE_MS);
    assert.deepEqual(idsOf(await first.claimDue(options({ takeOver: false, now }))), ["idle"]);
    assert.deepEqual(idsOf(await first.claimDue(options({ now }))), ["open"]);
    // The claim takes nothing over: token and lease are the turn's affair.
    const { owner, dueAt } = await executionOf(first, "open");
    assert.deepEqual([owner, dueAt], ["worker-1/a", T0 + LEASE_MS]);
  });

  add("claimDue() sees that an attempt was opened or has ended since", async ({ first, second }) => {
    await arrange(first, dueIn("opened", 0), dueIn("ended", 0, { owner: "worker-1/a" }));
    await commitOne(second, changeOf(dueIn("opened", 0), { owner: "worker-1/b" }));
    await commitOne(second, changeOf(dueIn("ended", 0, { owner: "worker-1/a" }), { owner: null }));
    assert.deepEqual(idsOf(await first.claimDue(options({ takeOver: false }))), ["ended"]);
  });
}

function patience(add: Cases["add"]): void {
  add("claimDue() waits twice as long with each counted hint, up to an hour", async ({ first }) => {
    await arrange(first, anExecution());
    const waits: number[] = [];
    let now = T0;
    for (const _ of range(9)) {
      const [claimed] = await first.claimDue(options({ now }));
      assert.equal(claimed?.resumeCount, waits.length + 1);
      const wakeAt = (await executionOf(first)).wakeAt!;
      waits.push((wakeAt - now) / 60_000);
      now = wakeAt;
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  add("claimDue() waits at most as long as its patience when that is more than an hour", async ({ first }) => {
    await arrange(first, anExecution({ id: "fresh" }), anExecution({ id: "resumed", resumeCount: 4 }));
    await first.claimDue(options({ patienceMs: 2 * HOUR_MS, counted: false }));
    const wakeTimes = (await first.load(["fresh", "resumed"])).map((record) => record?.execution.wakeAt);
    assert.deepEqual(wakeTimes, [T0 + 2 * HOUR_MS, T0 + 2 * HOUR_MS]);
  });

  add("claimDue() waits an hour after a thousand hints as well", async ({ first }) => {
    await arrange(first, anExecution({ id: "many", resumeCount: 62 }), anExecution({ id: "more", resumeCount: 1_500 }));
    assert.equal((await first.claimDue(options())).length, 2);
    const wakeTimes = (await first.load(["many", "more"])).map((record) => record?.execution.wakeAt);
    assert.deepEqual(wakeTimes, [T0 + HOUR_MS, T0 + HOUR_MS]);
  });

  add("claimDue() does not wait beyond the end of a lease that lies ahead", async ({ first }) => {
    await arrange(
      first,
      anExecution({ id: "ahead", owner: "worker-1/a", dueAt: T0 + 2_000.25, wakeAt: T0 }),
      anExecution({ id: "far ahead", owner: "worker-1/b", dueAt: T0 + 90_000, wakeAt: T0 }),
      anExecution({ id: "over", owner: "worker-1/c", dueAt: T0, wakeAt: T0 }),
      anExecution({ id: "nobody's", dueAt: T0 + 2_000, wakeAt: T0 }),
    );
    const claimed = await first.claimDue(options({ counted: false }));
    const wakes = await Promise.all(
      claimed.map(async ({ executionId }) => [executionId, (await executionOf(first, executionId)).wakeAt! - T0]),
    );
    assert.deepEqual(Object.fromEntries(wakes), {
      "ahead": 2_000.25,
      "far ahead": 60_000,
      "over": 60_000,
      "nobody's": 60_000,
    });
  });

  add("claimDue() that does not count leaves resumeCount, and waits by it all the same", async ({ first }) => {
    await arrange(first, anExecution({ resumeCount: 2 }));
    const [claimed] = await first.claimDue(options({ counted: false }));
    assert.equal(claimed?.resumeCount, 2);
    const { resumeCount, wakeAt } = await executionOf(first);
    assert.deepEqual([resumeCount, wakeAt], [2, T0 + 240_000]);
  });

  add("claimDue() counts where the due time has come or a request waits, and nowhere else", async ({ first }) => {
    const request = { action: "compensate", actor: null, reason: null, at: T0 } as const;
    await arrange(
      first,
      anExecution({ id: "due", dueAt: T0, wakeAt: T0 }),
      anExecution({ id: "not due", dueAt: T0 + 0.001, wakeAt: T0 }),
      anExecution({ id: "waiting", dueAt: null, wakeAt: T0 }),
      anExecution({ id: "asked, not due", dueAt: T0 + 1_000, wakeAt: T0, request }),
      anExecution({ id: "asked, open", owner: "worker-1/a", wakeAt: T0, request }),
    );
    const claimed = await first.claimDue(options());
    const counts = Object.fromEntries(claimed.map((claim) => [claim.executionId, claim.resumeCount]));
    assert.deepEqual(counts, { "due": 1, "not due": 0, "waiting": 0, "asked, not due": 1, "asked, open": 1 });
    for (const [id, count] of Object.entries(counts)) assert.equal((await executionOf(first, id)).resumeCount, count);
  });
}

function nextWakes(add: Cases["add"]): void {
  add("nextWake() gives the earliest wake time, past or to come, to the microsecond", async ({ first, second }) => {
    await arrange(first, dueIn("a", 5_000), dueIn("b", 3_000.125));
    assert.equal(await second.nextWake(FILTER), T0 + 3_000.125);
    await arrange(first, dueIn("c", -7_000));
    assert.equal(await second.nextWake(FILTER), T0 - 7_000);
  });

  add("nextWake() is null when nothing has a wake time", async ({ first }) => {
    assert.equal(await first.nextWake(FILTER), null);
    await arrange(
      first,
      anExecution({ wakeAt: null }),
      anExecution({ id: "completed", status: "completed" }),
      anExecution({ id: "blocked", status: "blocked" }),
    );
    assert.equal(await first.nextWake(FILTER), null);
  });

  add("nextWake() moves with claims, commits and renewals", async ({ first }) => {
    await arrange(first, anExecution({ owner: "worker-1/a", dueAt: T0, wakeAt: T0 }));
    await first.claimDue(options());
    assert.equal(await first.nextWake(FILTER), T0 + 60_000);
    await first.renew([{ executionId: "execution-1", token: "worker-1/a", until: T0 + 30_000 }]);
    assert.equal(await first.nextWake(FILTER), T0 + 30_000);
    await commitOne(first, changeOf(await executionOf(first), { wakeAt: T0 + 10_000, owner: null }));
    assert.equal(await first.nextWake(FILTER), T0 + 10_000);
    await commitOne(first, changeOf(await executionOf(first), { wakeAt: null }));
    assert.equal(await first.nextWake(FILTER), null);
  });
}

function touches(add: Cases["add"]): void {
  add("touch() sets the wake time of what runs or compensates, and nothing else", async ({ first, second }) => {
    const rows = [
      dueIn("later", 5_000),
      dueIn("earlier", -5_000),
      anExecution({ id: "waiting", dueAt: null, wakeAt: null }),
      anExecution({ id: "compensating", status: "compensating", owner: "worker-1/a" }),
    ];
    await arrange(first, ...rows, dueIn("untouched", 9_000));
    await first.touch([...rows.map((row) => row.id), "missing"], T0 + 0.25);
    const found = await second.load(rows.map((row) => row.id));
    assert.deepEqual(found.map((record) => record?.execution), rows.map((row) => ({ ...row, wakeAt: T0 + 0.25 })));
    assert.deepEqual(await executionOf(first, "untouched"), dueIn("untouched", 9_000));
  });

  for (const status of ["completed", "compensated", "failed", "compensation_failed", "blocked"] as const) {
    add(`touch() leaves what is ${status} alone`, async ({ first }) => {
      await arrange(first, anExecution({ status }));
      await first.touch(["execution-1"], T0);
      assert.deepEqual(await executionOf(first), anExecution({ status }));
    });
  }
}
