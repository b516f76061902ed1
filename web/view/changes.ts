/**
 * What has changed on the map since it was sent: a page that is open says by digests what it has, and is sent the rest.
 * Both sides take the digests from what they show, so the server keeps nothing of anybody's page.
 */

import type { LineChanges, LineModel, MapChanges, MapModel, StepModel } from "./model.ts";

type Map = Omit<MapModel, "now">;
type Parts = Omit<Map, "lines">;

/** Seven digits of base 36: one of 78 thousand million. */
const DIGITS = 7;

/** What a page has, as the value of `have`. */
export function digestsOf(map: Map): string {
  const steps = map.lines.flatMap((line) => line.steps.flatMap((step) => Object.values(digestsOfStep(line, step))));
  return [...partsOf(map).map(digest), ...steps].join(".");
}

/** The map without the parts that a page has. Lines, and the names of their steps, are always there, in their order. */
export function changesOf(map: Map, have: string): MapChanges {
  const known = new Set(have.split("."));
  const parts = partsOf(map).filter((part) => !known.has(digest(part)));
  return {
    ...Object.fromEntries(parts) as Partial<Parts>,
    lines: map.lines.map(({ steps, ...line }): LineChanges => ({
      ...line,
      steps: steps.map((step) => {
        const { counts, tokens } = digestsOfStep(line, step);
        const isDrawn = known.has(tokens);
        return isDrawn && known.has(counts) ? step.name : { ...step, tokens: isDrawn ? null : step.tokens };
      }),
    })),
  };
}

/** The map with its changes; null if the changes are not those of this map. */
export function changed(map: Map, changes: MapChanges): Map | null {
  const lines: LineModel[] = [];
  for (const { steps: changedSteps, ...line } of changes.lines) {
    const before = map.lines.find(({ saga }) => saga === line.saga)?.steps;
    const steps = changedSteps.map((step) => {
      const old = before?.find(({ name }) => name === (typeof step === "string" ? step : step.name));
      if (typeof step === "string") return old;
      const tokens = step.tokens ?? old?.tokens;
      return tokens && { ...step, tokens };
    });
    if (!steps.every((step): step is StepModel => step !== undefined)) return null;
    lines.push({ ...line, steps });
  }
  const { lines: _lines, ...parts } = changes;
  return { ...map, ...parts, lines };
}

/** Counts change where tokens do not, and tokens are what takes room. */
function digestsOfStep({ saga }: { readonly saga: string }, { tokens, ...counts }: StepModel) {
  return { counts: digest([saga, counts]), tokens: digest([saga, counts.name, tokens]) };
}

function partsOf({ lines: _lines, ...parts }: Map): readonly (readonly [string, unknown])[] {
  return Object.entries(parts).filter(([key]) => key !== "now");
}

/** Of the value as JSON. It tells versions of one page apart and guards nothing: quick is enough (this is cyrb53). */
function digest(value: unknown): string {
  const text = JSON.stringify(value);
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36).padStart(DIGITS, "0").slice(-DIGITS);
}
