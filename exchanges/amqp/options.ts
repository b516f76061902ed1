/** What an exchange over RabbitMQ can be told, and the check of it. */

import { type Clock, systemClock } from "../../src/clock.ts";
import { SagaError, show } from "../../src/errors.ts";
import { type Logger, silentLogger } from "../../src/logger.ts";

/** What kind of queues are declared. */
export type QueueType = "quorum" | "classic";

/** How an exchange over RabbitMQ is made. */
export interface AmqpExchangeOptions {
  /**
   * Where the broker is: `amqp://user:password@host:5672/vhost`, or `amqps:` for TLS. `?heartbeat=10` says after how
   * many seconds of silence a beat is due; the connection is given up after two to three of them. It is 10 unless it is
   * given; with 0 a broker that freezes is noticed by nobody.
   */
  readonly url: string;
  /**
   * `"quorum"` (replicated, RabbitMQ 3.10 and newer) unless it is `"classic"`. Queues that are there already are used as
   * they are, whatever this says.
   */
  readonly queueType?: QueueType;
  /** The name of the topic exchange and the beginning of the names of queues: `leveret.saga`. */
  readonly prefix?: string;
  /** How long `publish` waits for the broker's confirmation, in milliseconds: 5 s. */
  readonly publishDeadlineMs?: number;
  /** Hears of outages and of messages that nobody can use; silent unless it is given. */
  readonly logger?: Logger;
  /** Time for deadlines and pauses; the system's clock unless it is given. */
  readonly clock?: Clock;
}

/** Checked {@linkcode AmqpExchangeOptions}. */
export interface AmqpSettings {
  /** With a heartbeat. */
  readonly url: string;
  /** The address without the credentials, for logs. */
  readonly where: string;
  readonly queueType: QueueType;
  readonly prefix: string;
  readonly publishDeadlineMs: number;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** A frozen broker is noticed within 20 to 30 s: sooner would take a busy event loop for one. */
const DEFAULT_HEARTBEAT_S = 10;
/** Longest name of a queue (255 bytes) less the longest partition (200), `.execute.` and `.retry.` with its time. */
const MAX_PREFIX_LENGTH = 32;
const EXAMPLE = "amqp://user:password@host:5672/vhost";

/** @throws {SagaError} `invalid_options` */
export function checkOptions(options: AmqpExchangeOptions): AmqpSettings {
  if (typeof options !== "object" || options === null) throw invalid(`the options are ${show(options)}`, "options");
  const { url, queueType = "quorum", prefix = "leveret.saga", publishDeadlineMs = 5_000, ...rest } = options;
  const { logger = silentLogger, clock = systemClock, ...unknown } = rest;
  const [unknownKey] = Object.keys(unknown);
  if (unknownKey !== undefined) throw invalid(`there is no option ${show(unknownKey)}`, unknownKey);
  if (queueType !== "quorum" && queueType !== "classic") {
    throw invalid(`queueType is ${show(queueType)}; use "quorum" or "classic"`, "queueType");
  }
  if (typeof prefix !== "string" || !isPrefix(prefix)) {
    const rule = `use 1 to ${MAX_PREFIX_LENGTH} letters (A-Z, a-z), digits, dots, _ or -, not beginning with "amq."`;
    throw invalid(`prefix is ${show(prefix)}; ${rule}`, "prefix");
  }
  if (!Number.isFinite(publishDeadlineMs) || publishDeadlineMs <= 0) {
    throw invalid(`publishDeadlineMs is ${show(publishDeadlineMs)}; use milliseconds above 0`, "publishDeadlineMs");
  }
  return { ...addressOf(url), queueType, prefix, publishDeadlineMs, logger, clock };
}

function isPrefix(prefix: string): boolean {
  return prefix.length <= MAX_PREFIX_LENGTH && /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(prefix) &&
    !prefix.startsWith("amq.");
}

function addressOf(url: unknown): { readonly url: string; readonly where: string } {
  const parsed = typeof url === "string" ? URL.parse(url) : null;
  // A URL carries a password: nothing of one that cannot be taken apart is shown.
  if (parsed === null) {
    const what = typeof url === "string" ? "cannot be read as a URL" : `is ${show(url)}`;
    throw invalid(`url ${what}; give one like ${EXAMPLE}`, "url");
  }
  if (parsed.protocol !== "amqp:" && parsed.protocol !== "amqps:") {
    throw invalid(`url begins with ${show(parsed.protocol)}; give one like ${EXAMPLE}`, "url");
  }
  if (parsed.hostname === "") throw invalid(`url names no host; give one like ${EXAMPLE}`, "url");
  if (!isEncoded(parsed)) {
    throw invalid(`url has a % that encodes nothing; write %25 for a percent sign in a name or password`, "url");
  }
  const heartbeat = parsed.searchParams.get("heartbeat");
  if (heartbeat === null) parsed.searchParams.set("heartbeat", String(DEFAULT_HEARTBEAT_S));
  else if (!/^\d{1,4}$/.test(heartbeat)) {
    throw invalid(`the heartbeat in url is ${show(heartbeat)}; use whole seconds from 0 to 9999`, "url");
  }
  return { url: parsed.href, where: `${parsed.host}${parsed.pathname === "/" ? "" : parsed.pathname}` };
}

/** What the driver decodes, and how: it would throw at every attempt to connect. */
function isEncoded({ username, password, pathname }: URL): boolean {
  return ![username, password, pathname].some((part) => /%(?![0-9A-Fa-f]{2})/.test(part));
}

/** An error about an option. */
export function invalid(fact: string, path: string): SagaError {
  return new SagaError("invalid_options", `Cannot use RabbitMQ: ${fact}`, { details: { path } });
}
