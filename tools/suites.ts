/**
 * Suites that need what a bare machine may lack. One that cannot run says so here, and the test task names it at the
 * end; with every suite required (`CI=true` or `LEVERET_REQUIRE_ALL=1`) that is a failure.
 */

/** A suite that may be left out. */
export interface Suite {
  readonly name: string;
  /** What is missing when it is left out. */
  readonly needs: string;
  /** The variable that turns it on, and what to set it to. */
  readonly turnOn: string;
}

/** Names the file in which the suites of a test run note that they were left out. */
export const LEFT_OUT_FILE = "LEVERET_LEFT_OUT_FILE";

/** Notes that a suite does not run; outside the test task it says so at once. */
export function leaveOut(suite: Suite): void {
  const file = Deno.env.get(LEFT_OUT_FILE);
  if (file === undefined) console.warn(describeLeftOut(suite));
  else Deno.writeTextFileSync(file, JSON.stringify(suite) + "\n", { append: true });
}

/** What was noted in a file. */
export function readLeftOut(file: string): Suite[] {
  const suites = new Map<string, Suite>();
  for (const line of Deno.readTextFileSync(file).split("\n")) {
    if (line !== "") suites.set(line, JSON.parse(line));
  }
  return [...suites.values()];
}

/** One line for the end of a run. */
export function describeLeftOut({ name, needs, turnOn }: Suite): string {
  return `left out: ${name} (needs ${needs}; ${turnOn})`;
}

/** Whether a suite that is left out counts as a failure. */
export function allRequired(): boolean {
  return Deno.env.get("LEVERET_REQUIRE_ALL") === "1" || Deno.env.get("CI") === "true";
}
