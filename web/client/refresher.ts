/** Asks again and again for what the page shows: one request at a time, none while nobody looks. */

/** How it asks, and whom it tells. */
export interface RefresherOptions<Model> {
  /** Seconds between two requests; 0 is paused. */
  readonly interval: number;
  readonly now: number;
  /** What to ask for; null for nothing at the moment. */
  address(since: number): string | null;
  /** What has come; null if nothing has changed. `pauseMs` is how long nobody had asked. */
  take(model: Model | null, news: { readonly now: number; readonly gap: Gap }): void;
  /** What went wrong. */
  fail(message: string): void;
}

/** Why more time lies between two answers than the interval. */
export type Gap = "none" | "paused" | "hidden";

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
      if (document.hidden) {
        clearTimeout(this.#timer);
        if (this.#interval > 0) this.#gap = "hidden";
      } else if (this.#interval > 0) void this.refresh();
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
    const headers = this.#etag === null ? {} : { "if-none-match": this.#etag };
    const answer = await answerOf(address, headers);
    if (answer === null) {
      this.#options.fail("The server does not answer.");
      return;
    }
    const { response, body } = answer;
    if (response.status === 401 || response.status === 403 || response.redirected) {
      this.#options.fail("You are signed out: sign in again, then reload this page.");
      return;
    }
    if (response.status === 304) {
      this.#set(Number(response.headers.get("x-leveret-now")));
      this.#options.take(null, { now: this.#now, gap: this.#taken() });
      return;
    }
    if (!response.ok || body === null) {
      const { error } = (body ?? {}) as { readonly error?: string };
      this.#options.fail(
        error === undefined ? "Something else than the console answers." : `The server says: ${error}`,
      );
      return;
    }
    this.#etag = response.headers.get("etag");
    this.#set((body as Model).now);
    this.#options.take(body as Model, { now: this.#now, gap: this.#taken() });
  }

  #set(now: number): void {
    this.#now = now;
    this.#at = performance.now();
  }

  #taken(): Gap {
    const gap = this.#gap;
    this.#gap = "none";
    return gap;
  }

  #plan(): void {
    clearTimeout(this.#timer);
    if (this.#interval > 0 && !document.hidden) {
      this.#timer = setTimeout(() => void this.refresh(), this.#interval * 1_000);
    }
  }
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
