/** Looking after what is overdue, by hand or from a cron job. */

import { inside, optionsAt, type Place, refusal, wholeNumberAt } from "../definition/check.ts";
import { type Duration, durationMs } from "../definition/duration.ts";
import { park } from "../domain/operate.ts";
import type { ExecutionRecord } from "../domain/record.ts";
import { SagaError } from "../errors.ts";
import type { Claimed, ClaimOptions, DefinitionKey } from "../store.ts";
import { base } from "./events.ts";
import { operate } from "./operations.ts";
import { hintOf, type Parts } from "./parts.ts";
import { checkPartition } from "../definition/text.ts";

/** What to look after. */
export interface ResumeOptions {
  /** Overdue for at least so long: 15 min. */
  readonly olderThan?: Duration;
  /** At most this many: 100. */
  readonly limit?: number;
  /** After so many hints without effect it is given up; the engine's `maxResumes` if not given. */
  readonly maxResumes?: number;
  /** What giving up means: to park it for a person (`block`, the default), or to undo it. */
  readonly giveUp?: "block" | "compensate";
  /** Lanes; those of the definitions and of this engine's workers if not given. */
  readonly partitions?: readonly string[];
}

/** What was done, by execution id. */
export interface Resumed {
  /** Those that were sent another hint. */
  readonly resumed: readonly string[];
  /** Those that were given up. */
  readonly givenUp: readonly string[];
}

const DEFAULT_OLDER_THAN_MS = 15 * 60_000;

/** Sends overdue executions another hint, or gives them up. */
export async function resumeStuck(parts: Parts, options: ResumeOptions, consumed: readonly string[]): Promise<Resumed> {
  const place: Place = { code: "invalid_options", action: "resume what is stuck", path: "options" };
  const checked = optionsAt(place, options, ["olderThan", "limit", "maxResumes", "giveUp", "partitions"]);
  const olderThanMs = checked.olderThan === undefined
    ? DEFAULT_OLDER_THAN_MS
    : durationMs(checked.olderThan, inside(place, "olderThan"));
  const count = (key: "limit" | "maxResumes", fallback: number) =>
    checked[key] === undefined ? fallback : wholeNumberAt(inside(place, key), checked[key], { min: 1, max: 100_000 });
  const limit = count("limit", 100);
  const maxResumes = count("maxResumes", parts.settings.maxResumes);
  const giveUp = checked.giveUp ?? "block";
  if (giveUp !== "block" && giveUp !== "compensate") {
    throw refusal(inside(place, "giveUp"), giveUp, "use block or compensate");
  }
  const partitions = checked.partitions === undefined
    ? partitionsOf(parts, consumed)
    : listed(checked.partitions, place);
  const resumed: string[] = [];
  const givenUp: string[] = [];
  let left = limit;
  const lanes = await lanesOf(parts, partitions);
  for (const [index, lane] of lanes.entries()) {
    if (left === 0) break;
    const claimed = await parts.store.claimDue({
      ...lane,
      // Everything up to then is overdue by so much; the patience makes up for the time that was taken off.
      now: parts.clock.now() - olderThanMs,
      patienceMs: olderThanMs + parts.settings.redeliverAfterMs,
      // A full lane leaves the others their share.
      limit: Math.ceil(left / (lanes.length - index)),
      takeOver: true,
    });
    left -= claimed.length;
    for (const one of claimed) {
      const record = await parts.load(one.executionId);
      if (record === null) continue;
      const isHopeless = lane.counted && one.resumeCount > maxResumes;
      if (isHopeless && await giveItUp(parts, record, giveUp)) givenUp.push(one.executionId);
      else resumed.push(send(parts, record, one));
    }
  }
  return { resumed, givenUp };
}

type Lane = Pick<ClaimOptions, "partitions" | "definitions" | "counted">;

/**
 * What is looked after, apart by whether somebody should have taken it up by now. While no worker is alive, or many
 * hints wait, that hints had no effect proves nothing, and they are not counted.
 */
async function lanesOf(parts: Parts, partitions: readonly string[]): Promise<readonly Lane[]> {
  const workers = await parts.store.workers.list(parts.clock.now());
  const lanes: Lane[] = [];
  for (const partition of partitions) {
    const depth = await parts.exchange.depth(partition);
    const isCrowded = depth !== null && depth.ready > parts.settings.backlogThreshold;
    const isServed = ({ name, version }: DefinitionKey) =>
      !isCrowded &&
      workers.some((worker) =>
        worker.partitions.includes(partition) &&
        worker.definitions.some((known) => known.name === name && known.version === version)
      );
    for (const counted of [true, false]) {
      const definitions = parts.registry.keys.filter((key) => isServed(key) === counted);
      if (definitions.length > 0) lanes.push({ partitions: [partition], definitions, counted });
    }
  }
  return lanes;
}

function send(parts: Parts, record: ExecutionRecord, claimed: Claimed): string {
  parts.publish([hintOf(record.execution)]);
  parts.events.emit({ name: "saga.resumed", ...base(record.execution), resumeCount: claimed.resumeCount });
  return claimed.executionId;
}

async function giveItUp(parts: Parts, record: ExecutionRecord, how: "block" | "compensate"): Promise<boolean> {
  if (how === "compensate") {
    const refusal = await compensated(parts, record.execution.id);
    if (refusal === null) return true;
    // Past its pivot there is no way back: a person has to look. Whatever else is in the way is somebody at work.
    if (refusal.code !== "past_pivot") return false;
  }
  const change = park(record, "not_taken_up", parts.making("resume"));
  if (change === null) return false;
  const answer = await parts.commit(change);
  if (answer.kind === "committed") parts.committed(record, change, null);
  return answer.kind === "committed";
}

/** Asks for the compensation; the refusal, if there is one. */
async function compensated(parts: Parts, id: string): Promise<SagaError | null> {
  try {
    await operate(parts, id, "compensate", { actor: "resumeStuck", reason: "Hints had no effect" });
    return null;
  } catch (error) {
    if (error instanceof SagaError && REFUSALS.has(error.code)) return error;
    throw error;
  }
}

const REFUSALS: ReadonlySet<string> = new Set(["wrong_state", "attempt_open", "request_pending", "past_pivot"]);

function partitionsOf(parts: Parts, consumed: readonly string[]): readonly string[] {
  const { registry } = parts;
  const own = registry.keys.map(({ name, version }) => registry.get(name, version)?.partition ?? "default");
  return [...new Set([...consumed, ...own])];
}

function listed(value: unknown, place: Place): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw refusal(inside(place, "partitions"), value, "use a list of names");
  }
  return value.map((one, index) => checkPartition(one, inside(inside(place, "partitions"), index)));
}
