/** Asks again and again for what the page shows: one request at a time, none while nobody looks. */

/** How it asks, and whom it tells. */
export interface RefresherOptions<Model> {
  /** Seconds between two requests; 0 is paused. */
  readonly interval: number;
  readonly now: number;
  /** What to ask for; null for nothing at the moment. */
  address(since: number): string | null;
  /** What has come; null if nothing has changed. `gap` is why nobody had asked for longer than the interval. */
  take(model: Model | null, news: { readonly now: number; readonly gap: Gap }): void;
  /** What went wrong. */
  fail(message: string): void;
}

/** Why more time lies between two answers than the interval: the viewer paused, was elsewhere, or nothing answered. */
export type Gap = "none" | "paused" | "hidden" | "lost";

/** Keeps a page up to date. */
export class Refresher<Model extends { readonly now: number }> {
  readonly #options: RefresherOptions<Model>;
  #interval: number;
  #etag: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking = false;
  #gap: Gap = "none";
  /** The server's time, and this page's at the same moment: the browser's clock is never asked. */
  #now: number;
  #at = performance.now();

  constructor(options: RefresherOptions<Model>) {
    this.#options = options;
    this.#interval = options.interval;
    this.#now = options.now;
    this.#gap = options.interval === 0 ? "paused" : "none";
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) clearTimeout(this.#timer);
      else if (this.#interval > 0) {
        this.#gap = "hidden";
        void this.refresh();
      }
    });
    this.#plan();
  }

  /** The server's clock, as far as it can be told. */
  clock(): number {
    return this.#now + performance.now() - this.#at;
  }

  get isMoving(): boolean {
    return this.#interval > 0 && !document.hidden;
  }

  pace(interval: number): void {
    if (this.#interval === 0 && interval > 0) this.#gap = "paused";
    this.#interval = interval;
    clearTimeout(this.#timer);
    if (interval > 0) void this.refresh();
  }

  /** Asks now, unless a request is under way. */
  async refresh(): Promise<void> {
    if (this.#asking || document.hidden) return;
    clearTimeout(this.#timer);
    this.#asking = true;
    try {
      await this.#ask();
    } finally {
      this.#asking = false;
      this.#plan();
    }
  }

  async #ask(): Promise<void> {
    const address = this.#options.address(this.#now);
    if (address === null) return;
    // What lay between this question and the one before: what comes while it is under way belongs to the next.
    const gap = this.#gap;
    this.#gap = "none";
    const headers = this.#etag === null ? {} : { "if-none-match": this.#etag };
    const told = outcomeOf<Model>(await answerOf(address, headers));
    if (told.kind === "failed") {
      if (this.#gap === "none") this.#gap = gap === "none" ? "lost" : gap;
      this.#options.fail(told.message);
      return;
    }
    if (told.kind === "changed") this.#etag = told.etag;
    this.#now = told.kind === "changed" ? told.model.now : told.now;
    this.#at = performance.now();
    this.#options.take(told.kind === "changed" ? told.model : null, { now: this.#now, gap });
  }

  #plan(): void {
    clearTimeout(this.#timer);
    if (this.#interval > 0 && !document.hidden) {
      this.#timer = setTimeout(() => void this.refresh(), this.#interval * 1_000);
    }
  }
}

type Outcome<Model> =
  | { readonly kind: "changed"; readonly model: Model; readonly etag: string | null }
  | { readonly kind: "same"; readonly now: number }
  | { readonly kind: "failed"; readonly message: string };

function outcomeOf<Model>(answer: Awaited<ReturnType<typeof answerOf>>): Outcome<Model> {
  if (answer === null) return { kind: "failed", message: "The server does not answer." };
  const { response, body } = answer;
  const { status, headers, ok, redirected } = response;
  if (status === 401 || status === 403 || redirected) {
    return { kind: "failed", message: "You are signed out: sign in again, then reload this page." };
  }
  if (status === 304) return { kind: "same", now: Number(headers.get("x-leveret-now")) };
  if (ok && body !== null) return { kind: "changed", model: body as Model, etag: headers.get("etag") };
  const { error } = (body ?? {}) as { readonly error?: string };
  const message = error === undefined ? "Something else than the console answers." : `The server says: ${error}`;
  return { kind: "failed", message };
}

/** The answer and what it carries, null if that is no JSON; null as a whole if none has come. */
async function answerOf(
  address: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly response: Response; readonly body: unknown } | null> {
  try {
    const response = await fetch(address, { cache: "no-store", headers, signal: AbortSignal.timeout(20_000) });
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    return { response, body: isJson && response.status !== 304 ? await response.json() : null };
  } catch {
    return null; // offline, out of time, or cut off
  }
}
