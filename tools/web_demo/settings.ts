/** What the environment says about the demo of the console. */

export const USAGE = `Usage: deno task web-demo

The console with a week of executions, without database or broker. The environment changes it:

  PORT    where it listens (9292); 0 takes a free one
  HOST    on which address (127.0.0.1)
  DAYS    how many days before the present there are, 1 to 90 (7)
  HEAVY   1 makes it a bad day: thousands of failures, hundreds stalled (0)

  --help  this text`;

/** How the demo is set up. */
export interface DemoSettings {
  readonly hostname: string;
  readonly port: number;
  readonly days: number;
  readonly isHeavy: boolean;
}

/** Reads the environment, or says what is wrong with it. */
export function settingsOf(env: (name: string) => string | undefined): DemoSettings | string {
  const port = wholeOf(env("PORT") || "9292", 65_535);
  if (port === null) return `Cannot start: PORT is "${env("PORT")}"; use a number from 0 to 65535`;
  const days = wholeOf(env("DAYS") || "7", 90);
  if (days === null || days === 0) return `Cannot start: DAYS is "${env("DAYS")}"; use a number from 1 to 90`;
  const heavy = env("HEAVY") || "0";
  if (heavy !== "0" && heavy !== "1") return `Cannot start: HEAVY is "${heavy}"; use 1 or 0`;
  return { hostname: env("HOST") || "127.0.0.1", port, days, isHeavy: heavy === "1" };
}

function wholeOf(text: string, max: number): number | null {
  return /^\d{1,6}$/.test(text) && Number(text) <= max ? Number(text) : null;
}
