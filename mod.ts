/**
 * Leveret, a durable saga engine: business processes of several steps that either finish or are undone.
 *
 * Define a saga with {@linkcode saga}, or a {@linkcode workflow} as a function, run it with an {@linkcode Engine} on a store: `@leveret/saga/sqlite` for one
 * machine, `@leveret/saga/memory` for tests.
 *
 * @module
 */

export { localExchange, type LocalExchangeOptions } from "./exchanges/local.ts";
export { type Clock, systemClock } from "./src/clock.ts";
export { saga } from "./src/definition/saga.ts";
export { workflow } from "./src/definition/workflow.ts";
export type * from "./src/definition/workflow.ts";
export type * from "./src/definition/flow.ts";
export type * from "./src/definition/saga.ts";
export type * from "./src/definition/inference.ts";
export type * from "./src/definition/step_result.ts";
export type * from "./src/definition/scope.ts";
export type { Definition, ResourceRef, StepCode } from "./src/definition/definition.ts";
export type { Duration } from "./src/definition/duration.ts";
export type { RetryOptions } from "./src/definition/retry_options.ts";
export { type SchemaIssue, type SchemaResult, type StandardSchema, typed } from "./src/definition/schema.ts";
export type * from "./src/definition/verdict.ts";
export type { Registry } from "./src/definition/registry.ts";
export { isBug } from "./src/domain/bug.ts";
export type { Change, Expired } from "./src/domain/change.ts";
export { type ErrorData, errorOf, type Failure, type FailureCause } from "./src/domain/failure.ts";
export type { Json, JsonObject } from "./src/domain/json.ts";
export type { Plan, PlanEnd, PlanParallel, PlanStep } from "./src/domain/plan.ts";
export type { RunningRow } from "./src/domain/attempts.ts";
export type { RetryPolicy } from "./src/domain/retry.ts";
export * from "./src/domain/record.ts";
export type { Undoable } from "./src/domain/undo.ts";
export { Engine } from "./src/engine/engine.ts";
export type { EngineOptions, RetentionOptions, SignalOptions, StopOptions, WorkOptions } from "./src/engine/options.ts";
export type { DeployCheck, DeployProblem } from "./src/engine/check_deploy.ts";
export type { RerunOptions } from "./src/engine/rerun.ts";
export type { AttemptView, EngineHealth, RunningAttempt, VersionInUse, Worker } from "./src/engine/views.ts";
export type {
  AttemptEventBase,
  EventBase,
  SagaEvent,
  SagaEventName,
  SagaEvents,
  SagaListener,
} from "./src/engine/events.ts";
export type { Explanation, ExplanationKind } from "./src/engine/explain.ts";
export { logSubscriber } from "./src/engine/log_subscriber.ts";
export type { CompensationPlan, OperationOptions } from "./src/engine/operations.ts";
export type { Resumed, ResumeOptions } from "./src/engine/resume.ts";
export type { Tuning } from "./src/engine/settings.ts";
export type { Started, StartOptions } from "./src/engine/start.ts";
export type { WaitOptions } from "./src/engine/waiting.ts";
export type { PartitionOptions } from "./src/engine/worker.ts";
export {
  type AbortReason,
  AttemptAborted,
  isSagaError,
  NonRetryable,
  RetryAfter,
  SagaError,
  type SagaErrorCode,
  type SagaErrorDetails,
  StepFailed,
} from "./src/errors.ts";
export * from "./src/exchange.ts";
export * from "./src/logger.ts";
export * from "./src/queries.ts";
export * from "./src/store.ts";
