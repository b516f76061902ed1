/** Numbers, times and durations as people read them. The same on the server and in the browser. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** 5440 → "5,440" */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A count that may have been cut: "1,000+" */
export function cappedCount(value: number, isCapped: boolean): string {
  if (!isCapped) return count(value);
  // Where counting ended is chance: only what is certain and round is said.
  const unit = value >= 1_000 ? 1_000 : value >= 100 ? 100 : 1;
  return `${count(Math.floor(value / unit) * unit)}+`;
}

/** 83 → "83 ms", 4210 → "4.2 s", 754000 → "12 min 34 s" */
export function duration(ms: number): string {
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  return twoUnits(ms, [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [SECOND, "s"]]);
}

/** An age, in whole units: 2400 → "2 s", 7500000 → "2 h 5 min" */
export function age(ms: number): string {
  const whole = Math.max(0, ms);
  if (whole < MINUTE) return `${Math.floor(whole / SECOND)} s`;
  return twoUnits(whole, [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"]]);
}

/** "3 min ago", "in 5 s" */
export function relative(at: number, now: number): string {
  return at <= now ? `${age(now - at)} ago` : `in ${age(at - now)}`;
}

/** An age in one unit, where there is little room: "21 h ago". */
export function roughly(at: number, now: number): string {
  return relative(at, now).replace(/^(in )?(\d+ (?:d|h|min)) \d+ (?:h|min|s)/, "$1$2");
}

function twoUnits(ms: number, units: readonly (readonly [number, string])[]): string {
  const at = units.findIndex(([size]) => ms >= size);
  const [size, name] = units[at]!;
  const next = units[at + 1];
  const first = `${Math.floor(ms / size)} ${name}`;
  const rest = next === undefined ? 0 : Math.floor((ms % size) / next[0]);
  return rest === 0 || next === undefined ? first : `${first} ${rest} ${next[1]}`;
}

/** "2026-11-29 20:44:45" in UTC */
export function moment(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace("T", " ");
}

/** "20:44:45" in UTC */
export function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}

/** The time of today, the date as well of another day: "14:02", "Nov 27 14:02" */
export function since(at: number, now: number): string {
  const iso = new Date(at).toISOString();
  if (iso.slice(0, 10) === new Date(now).toISOString().slice(0, 10)) return iso.slice(11, 16);
  return `${MONTHS[new Date(at).getUTCMonth()]} ${new Date(at).getUTCDate()} ${iso.slice(11, 16)}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** "1 step", "2 steps" */
export function plural(value: number, one: string, many: string = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** The words of a status. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** The name of a step as it is read: hooks and the time between two steps have none of their own. */
export function stepWords(name: string): string {
  switch (name) {
    case "":
      return "between steps";
    case "~completed":
      return "when completed";
    case "~compensated":
      return "when compensated";
    default:
      return name;
  }
}
