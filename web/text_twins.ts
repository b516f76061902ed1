/** The screens as plain text, for terminals and tickets. */

import type { DoctorModel } from "./view/doctor.tsx";
import { clock, count, duration, moment, relative, since, stepWords, words } from "./view/format.ts";
import { headingOf } from "./view/executions.tsx";
import { labelOf } from "./view/gantt.tsx";
import type { DetailModel, ListModel, MapModel, RowModel } from "./view/model.ts";
import { troubleText } from "./view/troubles.tsx";

/** The map. */
export function mapText(model: MapModel): string {
  const { now, range, counts, lines, groups, waiting } = model;
  return document([
    model.verdict.parts.map(({ text }) => text).join(""),
    `as of ${clock(now)} UTC; failures and throughput of ${range}`,
    "",
    `${count(counts.moving)} moving, ${count(counts.compensating)} compensating, ${count(counts.pausing)} waiting, ` +
    `${count(counts.stalled)} stalled, ${count(counts.blocked)} blocked, ${count(counts.failed)} failed`,
    ...lines.flatMap((line) => [
      "",
      line.saga,
      ...table(line.steps.map((step) => [
        `  ${stepWords(step.name)}`,
        some(step.running, "running"),
        some(step.compensating, "compensating"),
        some(step.sleeping, "sleeping"),
        some(step.waiting, "waiting"),
        some(step.stalled, "stalled"),
        some(step.blocked, "blocked"),
        some(step.failed, "failed tries"),
      ])),
    ]),
    ...section(
      "Needs attention",
      groups.map((group) => [
        count(group.occurrences),
        `${group.saga} ${group.step}`,
        `${group.error}: ${oneLine(group.message)}`,
        `since ${since(group.firstAt, now)}${group.mayBeOlder ? " or before" : ""}, last ${
          relative(group.lastAt, now)
        }`,
      ]),
    ),
    ...section(
      "Waiting the longest",
      waiting.map((row) => [
        relative(row.progressAt, now),
        `${row.saga} ${row.step}`,
        row.id,
        row.resource ?? "",
      ]),
    ),
    ...model.troubles.map(troubleText),
  ]);
}

/** The list. */
export function listText(model: ListModel): string {
  return document([
    `${headingOf(model)}${model.q === "" ? "" : ` with ${oneLine(model.q)}`}`,
    ...(model.problem === null ? [] : [model.problem]),
    ...(model.note === null ? [] : [model.note]),
    "",
    ...table(model.rows.map((row) => [
      words(row.status),
      row.saga,
      row.step,
      row.resource === null ? "" : `${row.resource.type}/${row.resource.id}`,
      moment(row.startedAt),
      row.durationMs === null ? "" : duration(row.durationMs),
      row.id,
      oneLine([row.errorClass, row.error].filter(Boolean).join(": ")),
    ])),
    ...(model.next === null ? [] : ["", "There are more: ?cursor=" + model.next]),
  ]);
}

/** One execution. */
export function detailText(model: DetailModel): string {
  const { row, now } = model;
  return document([
    `${row.saga} v${row.version}${row.resource === null ? "" : ` for ${row.resource.type}/${row.resource.id}`}`,
    `${words(row.status)}: ${oneLine(model.sentence)}`,
    row.id,
    `as of ${moment(now)} UTC`,
    "",
    `started ${moment(row.startedAt)}, last progress ${moment(row.progressAt)} (${relative(row.progressAt, now)})`,
    ...(model.finishedAt === null ? [] : [`finished ${moment(model.finishedAt)}`]),
    ...[model.failure, model.compensationFailure].flatMap((failure) =>
      failure === null ? [] : [
        "",
        `${failure.class} at ${failure.step ?? "no step"}: ${oneLine(failure.message)}`,
        ...failure.causes.map((cause) => `  because of ${oneLine(cause)}`),
      ]
    ),
    ...section(
      "Attempts",
      model.attempts.map((one) => [
        moment(one.startedAt),
        labelOf(one),
        one.status === "abandoned" ? "outcome unknown" : one.status,
        one.durationMs === null ? "" : duration(one.durationMs),
        oneLine([one.errorClass, one.errorMessage, one.reason].filter(Boolean).join(": ")),
      ]),
    ),
    ...section(
      "Operations",
      model.operations.map((one) => [
        moment(one.at),
        words(one.action),
        one.actor ?? "",
        oneLine(one.reason ?? ""),
      ]),
    ),
    "",
    "Context",
    // JSON has escaped what moves a cursor, but for the controls beyond ASCII.
    model.context.text.replace(/[\x7f-\x9f]/g, "\ufffd") + (model.context.isCut ? "…" : ""),
  ]);
}

/** The doctor's findings. */
export function doctorText({ findings, workers, now }: DoctorModel): string {
  return document([
    `as of ${moment(now)} UTC`,
    "",
    ...table(findings.map(({ isGood, what, detail }) => [isGood ? "works" : "LOOK HERE", what, oneLine(detail)])),
    ...section(
      "Workers",
      (workers ?? []).map(({ id, partitions, definitions, seenAt }) => [
        id,
        partitions.join(","),
        definitions.join(","),
        `seen ${relative(seenAt, now)}`,
      ]),
    ),
  ]);
}

/** Pages of rows as comma-separated values; what spreadsheets would take for a formula is made text. */
export async function* csvOf(pages: AsyncIterable<readonly RowModel[]>): AsyncGenerator<string> {
  yield "id,status,saga,version,step,resource_type,resource_id,partition,started_at,duration_ms,attempts,error_class,error\r\n";
  for await (const rows of pages) yield rows.map((row) => `${csvLine(row)}\r\n`).join("");
}

/** Pages of rows as one list in JSON. */
export async function* jsonOf(pages: AsyncIterable<readonly RowModel[]>): AsyncGenerator<string> {
  let before = "[";
  for await (const rows of pages) {
    if (rows.length === 0) continue;
    yield before + rows.map((row) => JSON.stringify(row)).join(",");
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}

function csvLine(row: RowModel): string {
  return [
    row.id,
    row.status,
    row.saga,
    row.version,
    row.step,
    row.resource?.type ?? "",
    row.resource?.id ?? "",
    row.partition,
    new Date(row.startedAt).toISOString(),
    row.durationMs ?? "",
    row.attempts,
    row.errorClass ?? "",
    row.error ?? "",
  ].map(csvCell).join(",");
}

function csvCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function document(lines: readonly string[]): string {
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}

function section(title: string, rows: readonly (readonly string[])[]): readonly string[] {
  return rows.length === 0 ? [] : ["", title, ...table(rows.map(([first = "", ...rest]) => [`  ${first}`, ...rest]))];
}

/** Columns, each as wide as its widest cell; the last one is as it is. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return rows.map((row) => row.map((cell, at) => widths[at] === 0 ? "" : `${cell.padEnd(widths[at]!)}  `).join(""));
}

function some(value: number, word: string): string {
  return value === 0 ? "" : `${count(value)} ${word}`;
}

/** What moves a terminal's cursor or begins a new line is no part of a table. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, " ").slice(0, 300);
}
