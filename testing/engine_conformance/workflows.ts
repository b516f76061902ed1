/** Workflows: definitions whose function is run again over what is recorded. */

import type { Cases } from "./suite.ts";
import { workflowCallCases } from "./workflows_calls.ts";
import { workflowEndCases } from "./workflows_ends.ts";
import { workflowMisuseCases } from "./workflows_misuse.ts";
import { workflowOperatorCases } from "./workflows_operators.ts";
import { workflowParallelCases } from "./workflows_parallel.ts";
import { workflowReplayCases } from "./workflows_replay.ts";
import { workflowSignalCases } from "./workflows_signals.ts";
import { workflowSuspensionCases } from "./workflows_suspension.ts";
import { workflowTransactionCases } from "./workflows_transactions.ts";
import { workflowUndoCases } from "./workflows_undo.ts";

/** Registers the cases. */
export function workflowCases(cases: Cases): void {
  workflowReplayCases(cases);
  workflowSuspensionCases(cases);
  workflowMisuseCases(cases);
  workflowSignalCases(cases);
  workflowParallelCases(cases);
  workflowUndoCases(cases);
  workflowEndCases(cases);
  workflowCallCases(cases);
  workflowTransactionCases(cases);
  workflowOperatorCases(cases);
}
