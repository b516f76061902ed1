/** What an exchange over PostgreSQL can be told, and the check of it. */

import { type Clock, systemClock } from "../../src/clock.ts";
import { SagaError, show } from "../../src/errors.ts";
import { type Logger, silentLogger } from "../../src/logger.ts";
import type { ListeningClient } from "./session.ts";

/** How an exchange over PostgreSQL is made. Either `url` or `connect`. */
export interface PostgresExchangeOptions {
  /**
   * Where the server is: `postgres://user:password@host:5432/database`. It has to lead to the server itself, or to a
   * pooler that lends a connection for a whole session.
   */
  readonly url?: string;
  /** Makes a client of node-postgres of yours that is not connected yet; it is asked again after every loss. */
  readonly connect?: () => ListeningClient | Promise<ListeningClient>;
  /** Keeps the exchanges of one system apart from another's on the same database: `leveret`. */
  readonly channel?: string;
  /** How long `publish` waits for workers to say that they have taken a hint, in milliseconds: 1 s. */
  readonly publishDeadlineMs?: number;
  /** Hears of outages; silent unless it is given. */
  readonly logger?: Logger;
  /** Time for deadlines and pauses; the system's clock unless it is given. */
  readonly clock?: Clock;
}

/** Checked {@linkcode PostgresExchangeOptions}. */
export interface PostgresSettings {
  readonly makeClient: (() => ListeningClient | Promise<ListeningClient>) | { readonly url: string };
  /** The server in messages, without credentials. */
  readonly where: string;
  readonly channel: string;
  readonly publishDeadlineMs: number;
  readonly logger: Logger;
  readonly clock: Clock;
}

const EXAMPLE = "postgres://user:password@host:5432/database";

/** @throws {SagaError} `invalid_options` */
export function checkOptions(options: PostgresExchangeOptions): PostgresSettings {
  if (typeof options !== "object" || options === null) throw invalid(`the options are ${show(options)}`, "options");
  const { url, connect, channel = "leveret", publishDeadlineMs = 1_000, ...rest } = options;
  const { logger = silentLogger, clock = systemClock, ...unknown } = rest;
  const [unknownKey] = Object.keys(unknown);
  if (unknownKey !== undefined) throw invalid(`there is no option ${show(unknownKey)}`, unknownKey);
  if ((url === undefined) === (connect === undefined)) throw invalid("give either url or connect", "url");
  if (connect !== undefined && typeof connect !== "function") {
    throw invalid(`connect is ${show(connect)}; give a function that makes a client of node-postgres`, "connect");
  }
  // With the pid behind it, it has to fit the 63 bytes of a name.
  if (typeof channel !== "string" || !/^[a-z_][a-z0-9_]{0,39}$/.test(channel)) {
    throw invalid(`channel is ${show(channel)}; use 1 to 40 of a-z, 0-9 and _, not beginning with a digit`, "channel");
  }
  if (!Number.isFinite(publishDeadlineMs) || publishDeadlineMs <= 0) {
    throw invalid(`publishDeadlineMs is ${show(publishDeadlineMs)}; use milliseconds above 0`, "publishDeadlineMs");
  }
  const settings = { channel, publishDeadlineMs, logger, clock };
  if (connect !== undefined) return { ...settings, makeClient: connect, where: "PostgreSQL" };
  return { ...settings, makeClient: { url: url! }, where: `PostgreSQL at ${addressOf(url)}` };
}

/** The address without the credentials. A URL carries a password: nothing of one that cannot be read is shown. */
function addressOf(url: unknown): string {
  const parsed = typeof url === "string" ? URL.parse(url) : null;
  if (parsed === null) {
    throw invalid(
      `url ${typeof url === "string" ? "cannot be read as a URL" : `is ${show(url)}`}; give one like ${EXAMPLE}`,
      "url",
    );
  }
  if (!/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw invalid(`url begins with ${show(parsed.protocol)}; give one like ${EXAMPLE}`, "url");
  }
  return `${parsed.host}${parsed.pathname === "/" ? "" : parsed.pathname}`;
}

/** An error about an option. */
export function invalid(fact: string, path: string): SagaError {
  return new SagaError("invalid_options", `Cannot use the exchange over PostgreSQL: ${fact}`, { details: { path } });
}
