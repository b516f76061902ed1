/**
 * How the value of `error:` is read: `HttpError` is a class, `upstream` a part of the message, `HttpError: HTTP 502`
 * both. Where it does not look like what it is, a colon tells: `pg.Error:` is a class, `: Timeout` a part of a message.
 */

/** What an error has to have. */
export interface ErrorValue {
  readonly class?: string;
  readonly text?: string;
}

/** Reads the value. */
export function errorValue(value: string): ErrorValue {
  const [, before = "", after = ""] = /^([^:]*): (.+)$/s.exec(value) ?? [];
  if (after !== "" && before === "") return { text: after };
  if (after !== "" && isLikeClass(before)) return { class: before, text: after };
  if (value.length > 1 && value.endsWith(":")) return { class: value.slice(0, -1) };
  return isLikeClass(value) ? { class: value } : { text: value };
}

/** The value that is read as this class, whatever it looks like. */
export function valueOfClass(name: string): string {
  return isLikeClass(name) ? name : `${name}:`;
}

/** As classes are named. `ECONNRESET` and `timeout` are rather found in messages. */
function isLikeClass(text: string): boolean {
  return /^[A-Z][\w$.]*$/.test(text) && /[a-z]/.test(text);
}
