/**
 * Leveret, a durable saga engine: business processes of several steps that either finish or are undone.
 *
 * @module
 */

export { localExchange, type LocalExchangeOptions } from "./exchanges/local.ts";
export * from "./src/clock.ts";
export * from "./src/errors.ts";
export * from "./src/exchange.ts";
export * from "./src/logger.ts";
export * from "./src/store.ts";
