/** What is not shown: the values of passwords, tokens, secrets and cards. */

import type { Json } from "../src/domain/json.ts";

/** What stands in the place of a hidden value. */
export const HIDDEN = "••••••";

const SECRET =
  /(^|[._\-[\]"])(pass(word|wd|phrase|code)?|pwd|pin|secrets?|tokens?|api_?key|private_?key|authorization|cookie|card(_?(number|no))?|pan|cv[cv]2?|iban)($|[._\-[\]"])/i;

/**
 * Hides the values of names such as `password`, `apiKey` or `cardNumber`, and values that are the number of a card
 * whatever their name; not what stands within a longer text.
 * For a `redact` of your own to build on.
 */
export function redactSecrets(path: string, value: Json): Json {
  if (SECRET.test(asWords(path))) return HIDDEN;
  return typeof value === "string" && isCardNumber(value) ? HIDDEN : value;
}

/** A value as it may be shown; `redact` is asked for every value in it, the outermost first. */
export function redacted(value: Json, redact: (path: string, value: Json) => Json, path: string): Json {
  const shown = redact(path, value);
  if (shown !== value || typeof shown !== "object" || shown === null) return shown;
  if (Array.isArray(shown)) return shown.map((item, index) => redacted(item, redact, `${path}[${index}]`));
  return Object.fromEntries(
    Object.entries(shown as Readonly<Record<string, Json>>).map(([key, item]) => [
      key,
      redacted(item, redact, path === "" ? key : `${path}.${key}`),
    ]),
  );
}

/** "accessToken" → "access_Token" */
function asWords(path: string): string {
  return path.replace(/([a-z0-9])([A-Z])/g, "$1_$2");
}

/** 13 to 19 digits whose check digit is right, as written with spaces or hyphens. */
function isCardNumber(text: string): boolean {
  if (text.length > 30 || !/^\d[\d -]{11,}\d$/.test(text)) return false;
  const digits = text.replace(/\D/g, "");
  if (digits.length < 13 || digits.length > 19) return false;
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    const twice = place % 2 === 1 ? digit * 2 : digit;
    sum += twice > 9 ? twice - 9 : twice;
  }
  return sum % 10 === 0;
}
