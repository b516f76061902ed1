/**
 * Tools for testing sagas and what belongs to them.
 *
 * @module
 */

export * from "./drain.ts";
export * from "./engine_conformance.ts";
export * from "./exchange_conformance.ts";
export * from "./factories.ts";
export * from "./shop.ts";
export * from "./fake_exchange.ts";
export * from "./query_conformance.ts";
export * from "./store_conformance.ts";
export * from "./virtual_clock.ts";
export { findTransitionViolation, findViolation, rebuildContext } from "../src/domain/invariants.ts";
export * from "./crash_everywhere.ts";
export * from "./fault_points.ts";
export * from "./simulate.ts";
