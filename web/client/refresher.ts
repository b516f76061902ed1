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
    } catch {
      this.#options.fail("The server does not answer.");
    } finally {
      this.#asking = false;
      this.#plan();
    }
  }

  async #ask(): Promise<void> {
    const address = this.#options.address(this.#now);
    if (address === null) return;
    const headers = this.#etag === null ? {} : { "if-none-match": this.#etag };
    const signal = AbortSignal.timeout(20_000);
    const response = await fetch(address, { cache: "no-store", headers, signal });
    if (response.status === 401 || response.status === 403 || response.redirected) {
      this.#options.fail("You are signed out: sign in again, then reload this page.");
      return;
    }
    if (response.status === 304) {
      this.#set(Number(response.headers.get("x-leveret-now")));
      this.#options.take(null, { now: this.#now, gap: this.#taken() });
      return;
    }
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    const body = isJson ? await response.json() : null;
    if (!response.ok || body === null) {
      this.#options.fail(isJson ? `The server says: ${body.error}` : "Something else than the console answers.");
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
