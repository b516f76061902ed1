/** Ledgers of effects, compared line by line. */

/** How a ledger differs from the one that is expected, in lines for people. */
export interface LedgerDifference {
  /** What is not there, or not often enough. */
  readonly missing: readonly string[];
  /** What is there more often than expected, though it is expected. */
  readonly repeated: readonly string[];
  /** What is there and not expected at all. */
  readonly foreign: readonly string[];
}

/**
 * Compares two ledgers. The items of lists, sets and maps are compared as lines whose order does not matter; a number
 * under a key as an amount, whose sign does not matter either: more of it is more effect.
 */
export function compareLedgers(expected: unknown, actual: unknown): LedgerDifference {
  const amounts = compareAmounts(amountsOf(expected), amountsOf(actual));
  const wanted = countOf(linesOf(expected));
  const found = countOf(linesOf(actual));
  const surplus = (line: string) => (found.get(line) ?? 0) - (wanted.get(line) ?? 0);
  const extra = [...found.keys()].filter((line) => surplus(line) > 0);
  return {
    missing: [...[...wanted.keys()].filter((line) => surplus(line) < 0), ...amounts.missing],
    repeated: [...extra.filter((line) => wanted.has(line)), ...amounts.repeated],
    foreign: [...extra.filter((line) => !wanted.has(line)), ...amounts.foreign],
  };
}

/** Whether there is no difference. */
export function isSame({ missing, repeated, foreign }: LedgerDifference): boolean {
  return missing.length + repeated.length + foreign.length === 0;
}

function compareAmounts(expected: ReadonlyMap<string, number>, actual: ReadonlyMap<string, number>): LedgerDifference {
  const missing: string[] = [];
  const repeated: string[] = [];
  const foreign: string[] = [];
  for (const key of new Set([...expected.keys(), ...actual.keys()])) {
    const wanted = expected.get(key) ?? 0;
    const found = actual.get(key) ?? 0;
    if (wanted === found) continue;
    const line = `${key}: ${found} instead of ${wanted}`;
    if (Math.abs(found) < Math.abs(wanted)) missing.push(line);
    else if (wanted === 0) foreign.push(line);
    else repeated.push(line);
  }
  return { missing, repeated, foreign };
}

function amountsOf(ledger: unknown): ReadonlyMap<string, number> {
  return new Map(entriesOf(ledger).filter((entry): entry is [string, number] => typeof entry[1] === "number"));
}

function linesOf(ledger: unknown): readonly string[] {
  if (isList(ledger)) return [...ledger].map(textOf);
  const entries = entriesOf(ledger);
  if (entries.length === 0) return isKeyed(ledger) || ledger === undefined ? [] : [textOf(ledger)];
  return entries.flatMap(([key, value]) => {
    if (typeof value === "number") return [];
    return isList(value) ? [...value].map((item) => `${key}: ${textOf(item)}`) : [`${key}: ${textOf(value)}`];
  });
}

function entriesOf(ledger: unknown): [string, unknown][] {
  if (ledger instanceof Map) return [...ledger].map(([key, value]) => [textOf(key), value]);
  return isKeyed(ledger) ? Object.entries(ledger) : [];
}

function isList(value: unknown): value is Iterable<unknown> {
  return Array.isArray(value) || value instanceof Set;
}

function isKeyed(value: unknown): value is object {
  return typeof value === "object" && value !== null && !isList(value);
}

function countOf(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** JSON with sorted keys, so that the same thing is always the same line. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "bigint") return `${value}n`;
  const sorted = (_key: string, part: unknown) => {
    if (typeof part === "bigint") return `${part}n`;
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : 1));
  };
  return JSON.stringify(value, sorted) ?? String(value);
}
