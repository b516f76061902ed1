/** What the console is told, checked, with its defaults. */

import { flagAt, inside, optionsAt, type Place, refusal, wholeNumberAt } from "../src/definition/check.ts";
import { type Duration, durationMs } from "../src/definition/duration.ts";
import type { Json } from "../src/domain/json.ts";
import { safeLogger } from "../src/engine/safe_logger.ts";
import type { Logger } from "../src/logger.ts";
import type { Queries } from "../src/queries.ts";
import type { Store } from "../src/store.ts";
import { isFromThisMachine } from "./loopback.ts";
import { redactSecrets } from "./redact.ts";

/** What somebody may be allowed to do in the console. */
export type ConsoleAction = "read" | "retry" | "compensate" | "skip" | "terminate" | "signal" | "rerun";

/** Everything but reading. */
export const ACTIONS: readonly Exclude<ConsoleAction, "read">[] = [
  "retry",
  "compensate",
  "skip",
  "terminate",
  "signal",
  "rerun",
];

/** Seconds between two refreshes; 0 is paused. */
export type PollInterval = 0 | 2 | 5 | 15 | 60;

/** The intervals that can be picked. */
export const POLL_INTERVALS: readonly PollInterval[] = [0, 2, 5, 15, 60];

/** How the console is set up. Everything has a default; without `authorize` it can be read from this machine only. */
export interface ConsoleOptions {
  /**
   * Whether a request may do this. Asked for `read` on every request, before anything is looked up, and for the action
   * as well where one is asked for; the buttons of what is refused are not there. What it throws answers 500.
   */
  readonly authorize?: (request: Request, action: ConsoleAction) => boolean | Promise<boolean>;
  /** Shows, and changes nothing: false. */
  readonly readOnly?: boolean;
  /** Who is asking: the name that the audit trail keeps. */
  readonly actor?: (request: Request) => string | undefined | Promise<string | undefined>;
  /** What stands in the top bar and in the title of each page: `"SAGA"`. */
  readonly title?: string;
  /** Seconds between two refreshes until the viewer picks another interval: 5. */
  readonly pollInterval?: PollInterval;
  /** Rows that a search through contexts, steps or errors looks at: 50,000. */
  readonly maxRows?: number;
  /** What is shown in the place of a value; passwords, tokens, secrets and card numbers are hidden if not given. */
  readonly redact?: (path: string, value: Json) => Json;
  /** Where it is mounted, if that cannot be seen: `"/workflows"` behind what takes the prefix away. */
  readonly basePath?: string;
  /** What browsers call this server, if a proxy hides it: `"https://ops.example.org"`. */
  readonly origin?: string | readonly string[];
  /** In progress without progress for so long counts as stalled: 15 min. */
  readonly stalledAfter?: Duration;
  /** Where a trace can be looked at. */
  readonly traceUrl?: (traceId: string) => string;
  /** Told of what went wrong without anybody's fault; the system's console if not given. */
  readonly logger?: Logger;
}

/** Checked {@linkcode ConsoleOptions}. */
export interface ConsoleSettings {
  readonly authorize: (request: Request, action: ConsoleAction, surroundings: unknown) => boolean | Promise<boolean>;
  readonly readOnly: boolean;
  readonly actor: (request: Request) => string | undefined | Promise<string | undefined>;
  readonly title: string;
  readonly pollInterval: PollInterval;
  readonly maxRows: number;
  readonly redact: (path: string, value: Json) => Json;
  readonly basePath: string | null;
  readonly origins: readonly string[];
  readonly stalledAfterMs: number;
  readonly traceUrl: ((traceId: string) => string) | null;
  readonly logger: Logger;
}

const MAKE: Place = { code: "invalid_options", action: "make a console", path: "options" };
const MINUTE_MS = 60_000;

const KEYS = [
  "authorize",
  "readOnly",
  "actor",
  "title",
  "pollInterval",
  "maxRows",
  "redact",
  "basePath",
  "origin",
  "stalledAfter",
  "traceUrl",
  "logger",
] as const satisfies readonly (keyof ConsoleOptions)[];

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {SagaError} `invalid_options`
 */
export function consoleSettings(options: ConsoleOptions): ConsoleSettings {
  const given = optionsAt(MAKE, options, KEYS);
  functionsAt(given, ["authorize", "actor", "redact", "traceUrl"]);
  const { authorize, actor, redact, traceUrl, logger } = options;
  return {
    authorize: authorize ??
      ((request, action, surroundings) => action === "read" && isFromThisMachine(request, surroundings)),
    readOnly: flagAt(inside(MAKE, "readOnly"), given.readOnly),
    actor: actor ?? (() => undefined),
    title: titleAt(given.title),
    pollInterval: intervalAt(given.pollInterval),
    maxRows: given.maxRows === undefined
      ? 50_000
      : wholeNumberAt(inside(MAKE, "maxRows"), given.maxRows, { min: 100, max: 10_000_000 }),
    redact: redact ?? redactSecrets,
    basePath: basePathAt(given.basePath),
    origins: originsAt(given.origin),
    stalledAfterMs: given.stalledAfter === undefined
      ? 15 * MINUTE_MS
      : durationMs(given.stalledAfter, inside(MAKE, "stalledAfter"), { minMs: 1_000 }),
    traceUrl: traceUrl ?? null,
    logger: loggerAt(logger),
  };
}

function loggerAt(logger: Logger = console): Logger {
  const isLogger = (["debug", "info", "warn", "error"] as const).every((level) =>
    typeof logger?.[level] === "function"
  );
  if (!isLogger) throw refusal(inside(MAKE, "logger"), logger, "use console, or one like it");
  return safeLogger(logger);
}

/** The queries of an engine's store, without which there is nothing to show. */
export function queriesOf(engine: { readonly store: Store }): Queries {
  const store = (engine as Partial<typeof engine> | null | undefined)?.store;
  if (store === undefined) throw refusal(inside(MAKE, "engine"), engine, "use an engine");
  if (store.queries !== undefined) return store.queries;
  throw refusal(inside(MAKE, "engine"), store.kind, "its store answers no queries: use one that has `queries`");
}

function functionsAt(given: Readonly<Record<string, unknown>>, keys: readonly string[]): void {
  for (const key of keys) {
    const value = given[key];
    if (value !== undefined && typeof value !== "function") throw refusal(inside(MAKE, key), value, "use a function");
  }
}

function titleAt(value: unknown): string {
  if (value === undefined) return "SAGA";
  if (typeof value === "string" && value.trim() !== "" && value.length <= 80) return value;
  throw refusal(inside(MAKE, "title"), value, "use 1 to 80 characters");
}

function intervalAt(value: unknown): PollInterval {
  if (value === undefined) return 5;
  if ((POLL_INTERVALS as readonly unknown[]).includes(value)) return value as PollInterval;
  throw refusal(inside(MAKE, "pollInterval"), value, "use 0 (paused), 2, 5, 15 or 60 seconds");
}

function basePathAt(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === "string" && /^(\/[\w.~%:@!$&'()*+,;=-]+)*\/?$/.test(value)) return value.replace(/\/$/, "");
  throw refusal(inside(MAKE, "basePath"), value, 'use a path such as "/workflows"');
}

function originsAt(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const origins = Array.isArray(value) ? value : [value];
  return origins.map((one) => {
    const url = typeof one === "string" ? URL.parse(one) : null;
    if (url !== null && url.origin !== "null" && (one === url.origin || one === `${url.origin}/`)) return url.origin;
    throw refusal(inside(MAKE, "origin"), one, 'use an origin such as "https://ops.example.org"');
  });
}
