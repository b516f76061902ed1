/** What the screens show, as data: the same on the server, in the JSON twins and in the browser. */

import type { MarkName } from "./mark.tsx";

/** How far back the map looks. */
export type Range = "1h" | "24h" | "7d";

/** The ranges, and how long they are. */
export const RANGES: Readonly<Record<Range, number>> = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 };

/** A count that may have been cut. */
export interface Counted {
  readonly count: number;
  readonly isCapped: boolean;
}

/** The first screen. */
export interface MapModel {
  readonly now: number;
  readonly range: Range;
  readonly verdict: Verdict;
  readonly counts: Headline;
  readonly lines: readonly LineModel[];
  readonly throughput: Throughput;
  readonly groups: readonly GroupModel[];
  readonly waiting: readonly WaitingModel[];
  readonly stalled: number;
  /** What could not be read, and why: the rest of the page lives on. */
  readonly troubles: readonly Trouble[];
}

/** A part of a screen that failed. */
export interface Trouble {
  readonly part: string;
  readonly message: string;
  /** When it could be read last, for this or another viewer; null if it never could. */
  readonly workedAt: number | null;
}

/** Whether anything needs the viewer, in a sentence whose parts lead to what they speak of. */
export interface Verdict {
  readonly isCalm: boolean;
  readonly parts: readonly { readonly text: string; readonly href: string | null }[];
}

/** Headline counts. */
export interface Headline {
  readonly moving: number;
  readonly compensating: number;
  /** Sleeping, waiting for a signal, or scheduled. */
  readonly pausing: number;
  readonly stalled: number;
  readonly blocked: number;
  /** That ended so in the range. */
  readonly failed: number;
}

/** A saga or workflow as a line of its steps. */
export interface LineModel {
  readonly saga: string;
  readonly moving: number;
  readonly steps: readonly StepModel[];
  /** How the order of the lines came about: more is more trouble. */
  readonly trouble: number;
}

/** One step of a line. */
export interface StepModel {
  readonly name: string;
  /** "sleep", "wait": nothing of it runs. */
  readonly kind: string | null;
  /** Going forward now, or about to try again: those that are drawn and the rest. */
  readonly running: number;
  readonly compensating: number;
  readonly sleeping: number;
  readonly waiting: number;
  readonly blocked: number;
  readonly stalled: number;
  readonly failed: number;
  /** Null: fewer than 20 samples. */
  readonly timing: { readonly p50: number; readonly p95: number } | null;
  readonly tokens: readonly TokenModel[];
  /** All that are in the step by their time in it, class by class; null where the lanes hold them. */
  readonly ages: readonly number[] | null;
}

/** An execution on the map. */
export interface TokenModel {
  readonly id: string;
  readonly state: "running" | "compensating";
  /** When it came to this step, by the server's clock. */
  readonly at: number;
}

/** What has ended in time, beside the same hours of the day before. */
export interface Throughput {
  readonly from: number;
  readonly bucketMs: number;
  readonly buckets: readonly Bucket[];
  readonly isCut: boolean;
}

/** One bar. */
export interface Bucket {
  readonly completed: number;
  readonly compensated: number;
  readonly failed: number;
  /** All that ended in the same time of the day before. */
  readonly before: number;
}

/** Failures of one kind. */
export interface GroupModel {
  readonly saga: string;
  readonly step: string;
  readonly direction: string;
  readonly error: string;
  readonly message: string;
  readonly occurrences: number;
  /** Of those in the range. */
  readonly firstAt: number;
  /** Those of the range do not tell when it began. */
  readonly mayBeOlder: boolean;
  readonly lastAt: number;
  readonly spark: readonly number[];
  readonly href: string;
}

/** A stalled execution. */
export interface WaitingModel {
  readonly id: string;
  readonly saga: string;
  readonly step: string;
  readonly state: MarkName;
  readonly resource: string | null;
  readonly progressAt: number;
}

/** A refresh of the map: what has changed on it, and what has ended since the one before. */
export interface RefreshModel {
  readonly now: number;
  readonly map: MapChanges;
  readonly recent: RecentModel;
}

/** The map without the parts that the page has already. */
export interface MapChanges extends Partial<Omit<MapModel, "now" | "lines">> {
  readonly lines: readonly LineChanges[];
}

/** A line; of a step that the page has as it is, the name only. */
export interface LineChanges extends Omit<LineModel, "steps"> {
  readonly steps: readonly (StepChanges | string)[];
}

/** A step; without the tokens if the page has these. */
export interface StepChanges extends Omit<StepModel, "tokens"> {
  readonly tokens: readonly TokenModel[] | null;
}

/** What ended since the last refresh. */
export interface RecentModel {
  readonly finished: readonly FinishedModel[];
  /** How many ended since, by line: those that are not in the list as well. */
  readonly counts: readonly {
    readonly saga: string;
    readonly completed: number;
    readonly failed: number;
    readonly compensated: number;
  }[];
  /** Whether more ended than were counted. */
  readonly isCut: boolean;
}

/** An execution that has ended, with the way that it went. */
export interface FinishedModel {
  readonly id: string;
  readonly saga: string;
  readonly state: string;
  readonly step: string;
  readonly startedAt: number;
  readonly finishedAt: number;
  /** The steps on its way, and whether they were undone there; null where it is not known. */
  readonly way: readonly { readonly step: string; readonly isUndo: boolean }[] | null;
}

/** The list. */
export interface ListModel {
  readonly now: number;
  readonly q: string;
  readonly sort: string;
  readonly total: Counted;
  readonly rows: readonly RowModel[];
  /** The cursor of what comes after, or null at the end. */
  readonly next: string | null;
  readonly problem: string | null;
  /** What a search through contexts has looked at. */
  readonly note: string | null;
}

/** One execution in the list. */
export interface RowModel {
  readonly id: string;
  readonly state: MarkName;
  readonly status: string;
  readonly saga: string;
  readonly version: number;
  readonly step: string;
  readonly epoch: number;
  /** Place of the step and number of steps, where the definition is known. */
  readonly place: { readonly at: number; readonly of: number } | null;
  readonly resource: { readonly type: string; readonly id: string } | null;
  readonly partition: string;
  readonly startedAt: number;
  readonly progressAt: number;
  readonly durationMs: number | null;
  readonly attempts: number;
  readonly error: string | null;
  readonly errorClass: string | null;
}

/** One execution, with all that is known of it. */
export interface DetailModel {
  readonly now: number;
  readonly row: RowModel;
  /** What it is doing or waits for, in a sentence. */
  readonly sentence: string;
  readonly until: number | null;
  readonly direction: string;
  readonly attempt: number;
  readonly owner: string | null;
  readonly dueAt: number | null;
  readonly deadlineAt: number | null;
  readonly finishedAt: number | null;
  readonly waitingFor: string | null;
  readonly activeKey: string | null;
  readonly parentId: string | null;
  readonly revision: number;
  readonly resumeCount: number;
  readonly blockedReason: string | null;
  readonly trace: { readonly id: string; readonly href: string | null } | null;
  readonly failure: FailureModel | null;
  readonly compensationFailure: FailureModel | null;
  readonly way: readonly WayStep[];
  readonly attempts: readonly AttemptModel[];
  readonly attemptsTotal: number;
  readonly input: JsonText;
  readonly context: JsonText;
  /** Null for a saga. */
  readonly output: JsonText | null;
  readonly signals: readonly { readonly name: string; readonly payload: JsonText; readonly at: number }[];
  readonly operations: readonly OperationModel[];
  readonly others: readonly RowModel[];
  readonly actions: readonly ActionModel[];
  readonly troubles: readonly Trouble[];
}

/** JSON to be read by people. */
export interface JsonText {
  readonly text: string;
  /** Whether it is longer than is shown. */
  readonly isCut: boolean;
}

/** What went wrong, and what lay behind it. */
export interface FailureModel {
  readonly class: string;
  readonly message: string;
  readonly step: string | null;
  readonly at: number;
  readonly causes: readonly string[];
}

/** A step on the way of one execution. */
export interface WayStep {
  readonly name: string;
  readonly mark: MarkName;
  readonly word: string;
  readonly isNow: boolean;
}

/** One try. */
export interface AttemptModel {
  readonly id: string;
  readonly step: string;
  readonly direction: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly kind: string;
  readonly status: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly durationMs: number | null;
  readonly errorClass: string | null;
  readonly errorMessage: string | null;
  /** The lines that are likely to matter; the whole one is in `backtrace`. */
  readonly frames: readonly string[];
  readonly backtrace: string | null;
  readonly retryAt: number | null;
  readonly diff: readonly DiffLine[];
  readonly key: string;
  readonly reason: string | null;
  readonly worker: string | null;
  readonly timing: { readonly p50: number; readonly p95: number } | null;
}

/** One change of the context. */
export interface DiffLine {
  readonly kind: "add" | "chg" | "del";
  readonly path: string;
  /** As JSON, shortened; empty if there was or is nothing. */
  readonly before: string;
  readonly after: string;
}

/** What somebody did. */
export interface OperationModel {
  readonly action: string;
  readonly actor: string | null;
  readonly reason: string | null;
  readonly detail: string;
  readonly at: number;
}

/** What may be done now. */
export interface ActionModel {
  readonly action: "retry" | "compensate" | "skip" | "terminate" | "signal" | "rerun";
  /** Named by its effect: "Compensate: undo 2 steps". */
  readonly label: string;
  /** What happens, in a sentence or two. */
  readonly effect: string;
  /** Steps that it undoes, in order. */
  readonly plan: readonly { readonly step: string; readonly isCertain: boolean }[];
  /** Why it cannot be done; null if it can. */
  readonly refused: string | null;
}

/** What a bulk action would do. */
export interface BulkModel {
  readonly now: number;
  readonly action: "retry" | "compensate";
  readonly q: string;
  /** How many were picked one by one; null for all that the filter has. */
  readonly picked: number | null;
  readonly eligible: readonly { readonly id: string; readonly epoch: number }[];
  readonly isLimited: boolean;
  readonly skipped: readonly { readonly why: string; readonly count: number }[];
  readonly oldest: number | null;
  readonly newest: number | null;
  readonly samples: readonly RowModel[];
  readonly problem: string | null;
}
