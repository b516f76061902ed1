/**
 * The filter language of the list: `saga:orders.checkout status:failed error:"HTTP 502" ctx.customer:42 stalled`.
 * Terms of one kind are alternatives for `status`, and replace each other otherwise; all kinds have to hold.
 */

/** One condition, as it is written. */
export interface Term {
  /** `saga`, `status`, `ctx.customer`, `stalled`. */
  readonly key: string;
  /** Empty for `stalled`. */
  readonly value: string;
}

/** A filter, or what is wrong with its text. */
export type Parsed =
  | { readonly kind: "terms"; readonly terms: readonly Term[] }
  | { readonly kind: "problem"; readonly message: string };

/** Kinds of conditions, with what they mean, for completion and for the page's help. */
export const FILTER_KEYS: readonly { readonly key: string; readonly means: string }[] = [
  { key: "saga", means: "name of the saga or workflow" },
  { key: "status", means: "where it is in its life" },
  { key: "step", means: "the step reached, or with error: the step that failed" },
  { key: "error", means: "class of an error, part of its message, or class: message" },
  { key: "resource", means: "Type or Type/id" },
  { key: "partition", means: "lane of work" },
  { key: "since", means: "1h, 24h, 7d, or a time in UTC" },
  { key: "until", means: "a time in UTC" },
  { key: "ctx.", means: "a value in the context: ctx.customer.id:42" },
  { key: "stalled", means: "in progress without progress" },
  { key: "id", means: "one execution" },
];

/** Statuses, as the filter takes them. */
export const STATUSES = [
  "running",
  "compensating",
  "blocked",
  "completed",
  "compensated",
  "failed",
  "compensation_failed",
] as const;

const SIMPLE: ReadonlySet<string> = new Set(
  FILTER_KEYS.map(({ key }) => key).filter((key) => key !== "ctx." && key !== "stalled"),
);
const MAX_TERMS = 20;

/** Reads a filter. A bare word that is no condition is taken for an id. */
export function parseFilter(text: string): Parsed {
  const terms: Term[] = [];
  for (const part of partsOf(text)) {
    const term = termOf(part);
    if (typeof term === "string") return { kind: "problem", message: term };
    terms.push(term);
  }
  if (terms.length > MAX_TERMS) return { kind: "problem", message: `A filter takes at most ${MAX_TERMS} conditions` };
  return { kind: "terms", terms: withoutReplaced(terms) };
}

/** The text of a filter, from which the same terms are read. */
export function filterText(terms: readonly Term[]): string {
  return terms.map(termText).join(" ");
}

/** One term as it is written. */
export function termText({ key, value }: Term): string {
  if (key === "stalled") return key;
  return `${key}:${/^[^\s"]+$/.test(value) ? value : `"${value.replace(/["\\]/g, "\\$&")}"`}`;
}

/** The value of the first term of a kind, or undefined. */
export function valueOf(terms: readonly Term[], key: string): string | undefined {
  return terms.find((term) => term.key === key)?.value;
}

/** The terms with one more; the same one once. */
export function withTerm(terms: readonly Term[], term: Term): readonly Term[] {
  return withoutReplaced([...terms, term]);
}

/** At spaces that are not within quotes. */
function partsOf(text: string): readonly string[] {
  return text.match(/(?:[^\s"]|"(?:\\.|[^"\\])*"?)+/g) ?? [];
}

function termOf(part: string): Term | string {
  if (part === "stalled") return { key: "stalled", value: "" };
  const colon = part.indexOf(":");
  if (colon <= 0) return unquoted(part) === "" ? 'An id is missing: "" is none' : { key: "id", value: unquoted(part) };
  const key = part.slice(0, colon);
  const value = unquoted(part.slice(colon + 1));
  if (!SIMPLE.has(key) && !/^ctx\.[^\s".]+(\.[^\s".]+)*$/.test(key)) {
    // Ids may hold colons; what looks like a condition is more likely to be one that is misspelt.
    if (!/^[a-z]+$/.test(key)) return { key: "id", value: unquoted(part) };
    return `There is no condition "${key}:"; use ${FILTER_KEYS.map((one) => one.key).join(", ")}`;
  }
  if (value === "") return `The condition "${key}:" needs a value`;
  if (key === "status" && !(STATUSES as readonly string[]).includes(value)) {
    return `There is no status "${value}"; use ${STATUSES.join(", ")}`;
  }
  return { key, value };
}

function unquoted(text: string): string {
  return text.replace(/"((?:\\.|[^"\\])*)"?/g, (_all, inner: string) => inner.replace(/\\(.)/g, "$1"));
}

function withoutReplaced(terms: readonly Term[]): readonly Term[] {
  return terms.filter((term, at) =>
    !terms.slice(at + 1).some((later) =>
      later.key === term.key && (later.value === term.value || (term.key !== "status" && !term.key.startsWith("ctx.")))
    )
  );
}
