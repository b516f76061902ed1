/** What came of all runs, for people. */

import { describeFault, type PlannedFault } from "./faults.ts";
import type { Problem, ProblemKind } from "./judge.ts";

/** One thing that went wrong, in however many runs. */
export interface CrashFinding {
  /** What is wrong. */
  readonly kind: ProblemKind;
  /** In how many runs. */
  readonly runs: number;
  /** The faults of the first of them, which is one of those with the fewest: `crash at step.charge.run#1:after`. */
  readonly faults: readonly string[];
  /** Code that ran more often in it than without faults: `step.charge.run`. */
  readonly suspects: readonly string[];
  /** Lines of the ledger that are missing or too many, or a sentence. */
  readonly details: readonly string[];
  /** What to do. */
  readonly advice: string;
}

/** What came of all runs. `String(report)` says it in words. */
export interface CrashReport {
  /** The name of the saga or workflow. */
  readonly saga: string;
  /** Which of them it is. */
  readonly kind: "saga" | "workflow";
  /** How it ends without faults. */
  readonly end: string;
  /** Points of the run without faults; looks of an idle worker at what stays the same are counted once. */
  readonly points: readonly string[];
  /** Runs with one fault. */
  readonly singles: number;
  /** Runs with two. */
  readonly pairs: number;
  /** Pairs that there are; more than were run if `pairs` set a number. */
  readonly possiblePairs: number;
  /** All runs, the one without faults included. */
  readonly runs: number;
  /** Runs in which an effect was lost. */
  readonly lost: number;
  /** Runs in which an effect took place twice. */
  readonly doubled: number;
  /** Runs that went back and left an effect. */
  readonly undosMissing: number;
  /** What went wrong; empty if nothing did. */
  readonly findings: readonly CrashFinding[];
  /** The report in words. */
  toString(): string;
}

/** Thrown by `crashEverywhere`: some runs went wrong. Its message is the report. */
export class CrashEverywhereError extends Error {
  /** Stays when code is minified. */
  override readonly name = "CrashEverywhereError";
  /** What came of all runs. */
  readonly report: CrashReport;

  /** For a report with findings. */
  constructor(report: CrashReport) {
    super(String(report));
    this.report = report;
  }
}

/** Counts runs and gathers what went wrong in them. */
export class Findings {
  readonly #found = new Map<string, CrashFinding>();
  readonly #runs = new Map<ProblemKind, number>();

  get all(): readonly CrashFinding[] {
    return [...this.#found.values()];
  }

  /** In how many runs there was a problem of this kind. */
  count(kind: ProblemKind): number {
    return this.#runs.get(kind) ?? 0;
  }

  add(problem: Problem, faults: readonly PlannedFault[], suspects: readonly string[]): void {
    const { kind, details } = problem;
    this.#runs.set(kind, this.count(kind) + 1);
    const key = JSON.stringify([kind, suspects]);
    const known = this.#found.get(key);
    this.#found.set(key, {
      ...known ??
        { kind, faults: faults.map(describeFault), suspects, details, advice: adviceOn(problem, suspects, faults) },
      runs: (known?.runs ?? 0) + 1,
    });
  }
}

/** What a report is made of. */
export type ReportParts = Omit<CrashReport, "lost" | "doubled" | "undosMissing" | "findings" | "toString">;

/** The report on what was found. */
export function reportOf(parts: ReportParts, findings: Findings): CrashReport {
  const report = {
    ...parts,
    lost: findings.count("lost"),
    doubled: findings.count("doubled"),
    undosMissing: findings.count("undo_missing"),
    findings: findings.all,
  };
  return { ...report, toString: () => describeReport(report) };
}

function describeReport(report: Omit<CrashReport, "toString">): string {
  const { doubled, end, findings, kind, lost, pairs, points, possiblePairs, runs, singles, undosMissing } = report;
  const name = `${kind} "${report.saga}"`;
  const ofPairs = pairs === possiblePairs ? "" : ` of ${possiblePairs}`;
  const counts = `${lost} lost, ${doubled} doubled, ${undosMissing} undos missing`;
  const tried = `${points.length} points, ${singles} runs with one fault, ${pairs}${ofPairs} with two`;
  if (findings.length === 0) {
    return `${name[0]?.toUpperCase()}${
      name.slice(1)
    } ends ${end} whatever crashes: ${counts} in ${runs} runs (${tried})`;
  }
  const wrong = findings.reduce((sum, finding) => sum + finding.runs, 0);
  const head = `Cannot let ${name} crash everywhere: ${counts}; ${plural(wrong, "problem")} in ${runs} runs (${tried})`;
  return [head, ...findings.map(describeFinding)].join("\n\n");
}

function describeFinding({ advice, details, faults, kind, runs, suspects }: CrashFinding, index: number): string {
  const again = suspects.length === 0 ? "" : `, after ${suspects.map(nameOfCode).join(" and ")} ran again`;
  return [
    `${index + 1}. ${TITLES[kind]}${again} (${plural(runs, "run")})`,
    `   faults: ${faults.join(", then ") || "none"}`,
    ...details.map((detail) => `   ${MARKS[kind]}${detail}`),
    `   to do: ${advice}`,
  ].join("\n");
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const TITLES: Readonly<Record<ProblemKind, string>> = {
  lost: "An effect is lost",
  doubled: "An effect took place twice",
  undo_missing: "An effect is left though it was to be undone",
  needs_person: "It cannot end by itself",
  other_end: "It ends otherwise than without faults",
  stuck: "It does not end in time",
  refused: "The start or a signal was refused",
  check: "The check failed",
};

const MARKS: Readonly<Record<ProblemKind, string>> = {
  lost: "missing: ",
  doubled: "too much: ",
  undo_missing: "left: ",
  needs_person: "",
  other_end: "",
  stuck: "",
  refused: "",
  check: "",
};

function adviceOn({ kind, details }: Problem, suspects: readonly string[], faults: readonly PlannedFault[]): string {
  const [suspect] = suspects;
  switch (kind) {
    case "doubled":
      return suspect?.endsWith(".undo") === true
        ? `let ${nameOfCode(suspect)} hand its key to the service that it calls, or look first what is left to undo`
        : `let ${
          suspect === undefined ? "the step" : nameOfCode(suspect)
        } hand its key to the service that it calls, ` +
          "or look first whether it took effect already; what is in the store's own database belongs into a transaction()";
    case "undo_missing":
      return "let the undo take back by stepKey whatever took effect, known or not, and forbid that key; " +
        "with undoOnFailure: true it is called for tries that failed, too";
    case "lost":
      return "let the code return only when its effect is there for good, and do nothing after it that may be cut off";
    case "needs_person":
      return adviceForPerson(details[0] ?? "", faults);
    case "other_end":
      return "make the steps depend on nothing but their scope and their resources";
    case "stuck":
      return "give the signals that it waits for as signals, and time enough as within";
    case "refused":
      return "see what the error says";
    case "check":
      return "see what the check asks for; String(report) names the faults, and faultPoints() repeats them one by one";
    default:
      return kind satisfies never;
  }
}

function adviceForPerson(state: string, faults: readonly PlannedFault[]): string {
  const accept = "or accept it with mayNeedPerson: true";
  if (state.startsWith("blocked as outcome_unknown")) {
    return `give the step undoOnFailure: true and an undo that works by stepKey alone, ${accept}`;
  }
  if (state.startsWith("blocked as crashed") || state.startsWith("compensation_failed")) {
    return `give the step more attempts than there are faults (${faults.length}), ${accept}`;
  }
  return `see why it is ${state.split(" (")[0]}, ${accept}`;
}

/** `the undo of "charge"` for `step.charge.undo`. */
function nameOfCode(code: string): string {
  const step = JSON.stringify(code.slice("step.".length, code.lastIndexOf(".")));
  return code.endsWith(".undo") ? `the undo of ${step}` : step;
}
