/** How many tests passed and failed. */

/** Counts of a run; `skipped` names the tests that did not run. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

/** Nothing ran. */
export const EMPTY_TALLY: Tally = { passed: 0, failed: 0, skipped: [] };

/** Both together. */
export function addTallies(a: Tally, b: Tally): Tally {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: [...a.skipped, ...b.skipped] };
}

/** The line that a run ends with. */
export function describeTally({ passed, failed }: Tally): string {
  return `${passed} passed, ${failed} failed`;
}

/**
 * The counts of a JUnit report, null if there is none. A run that was not `ok` has failed somewhere, be it in a module
 * that could not be loaded, of which the report says nothing.
 */
export function tallyOf(report: string | null, ok: boolean): Tally {
  const tally = { passed: 0, failed: 0, skipped: [] as string[] };
  const cases = /<testcase name="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g;
  for (const [, name = "", rest = ""] of (report ?? "").matchAll(cases)) {
    if (/<skipped[ /]/.test(rest)) tally.skipped.push(unescapeXml(name));
    else if (/<(failure|error)[ >]/.test(rest)) tally.failed++;
    else tally.passed++;
  }
  return ok || tally.failed > 0 ? tally : { ...tally, failed: 1 };
}

function unescapeXml(text: string): string {
  const names: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replace(/&(lt|gt|quot|apos|amp);/g, (_all, name: string) => names[name] ?? "");
}
