/** The ledger of the example shop: what really happened, in an SQLite file that all processes write to. */

import { DatabaseSync } from "node:sqlite";
import { NonRetryable } from "@leveret/saga";

/**
 * `effect`: it was done. `repeat`: it had been done under this key, and the first receipt was given again. `undo`: it
 * was taken back, or forbidden before it could happen. `refused`: it was asked for after that.
 */
export type EntryKind = "effect" | "repeat" | "undo" | "refused";

/** A call to the shop. */
export interface Entry {
  readonly seq: number;
  /** The idempotency key of the step that called, `<execution>:<step>`. */
  readonly key: string;
  readonly kind: EntryKind;
  readonly what: string;
  /** Which worker called. */
  readonly worker: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const SCHEMA = `create table if not exists entries (
  seq integer primary key, key text not null, kind text not null, what text not null, worker text not null, at real not null
);
create index if not exists entries_key on entries (key);`;

/** How long a call waits for others that write. */
const BUSY_MS = 5_000;

/**
 * Keeps one promise for each key: it takes effect once at most, and never again once it was taken back. This is what a
 * saga needs of the services that it calls. Nothing is ever changed or deleted, so it can be read afterwards.
 */
export class Ledger {
  readonly #database: DatabaseSync;
  readonly #worker: string;

  /** `worker` is the name under which this process calls. */
  constructor(path: string, worker: string) {
    this.#database = new DatabaseSync(path, { timeout: BUSY_MS });
    this.#database.exec(`pragma journal_mode = wal; pragma synchronous = normal; ${SCHEMA}`);
    this.#worker = worker;
  }

  /**
   * Does it, unless it was done under this key before. Returns the receipt, the same one each time.
   *
   * @throws {NonRetryable} if the key was taken back
   */
  perform(key: string, what: string): string {
    return this.#atomically(() => {
      const before = this.#ofKey(key);
      if (before.some(({ kind }) => kind === "undo")) {
        this.#add(key, "refused", what);
        return null;
      }
      const effect = before.find(({ kind }) => kind === "effect");
      const seq = this.#add(key, effect === undefined ? "effect" : "repeat", what);
      return `receipt-${effect?.seq ?? seq}`;
    }) ?? forbidden(key, what);
  }

  /** Takes back what was done under the key, if anything was, and forbids the key. */
  takeBack(key: string, what: string): void {
    this.#atomically(() => {
      if (!this.#ofKey(key).some(({ kind }) => kind === "undo")) this.#add(key, "undo", what);
    });
  }

  /** All calls, in the order in which they came. */
  entries(): readonly Entry[] {
    return this.#database.prepare("select * from entries order by seq").all() as unknown as Entry[];
  }

  /** Whether somebody keeps all others from writing for longer than so many milliseconds, which holds this process up. */
  isLocked(forMs: number): boolean {
    this.#database.exec(`pragma busy_timeout = ${forMs}`);
    try {
      this.#database.exec("begin immediate; rollback");
      return false;
    } catch {
      return true;
    } finally {
      this.#database.exec(`pragma busy_timeout = ${BUSY_MS}`);
    }
  }

  /** Closes the file. */
  close(): void {
    this.#database.close();
  }

  #ofKey(key: string): readonly Pick<Entry, "kind" | "seq">[] {
    const rows = this.#database.prepare("select kind, seq from entries where key = ? order by seq").all(key);
    return rows as unknown as Pick<Entry, "kind" | "seq">[];
  }

  #add(key: string, kind: EntryKind, what: string): number {
    const insert = this.#database.prepare("insert into entries (key, kind, what, worker, at) values (?, ?, ?, ?, ?)");
    return Number(insert.run(key, kind, what, this.#worker, Date.now()).lastInsertRowid);
  }

  #atomically<T>(work: () => T): T {
    this.#database.exec("begin immediate");
    try {
      const result = work();
      this.#database.exec("commit");
      return result;
    } catch (error) {
      this.#database.exec("rollback");
      throw error;
    }
  }
}

function forbidden(key: string, what: string): never {
  throw new NonRetryable(`Cannot ${what}: the key "${key}" was taken back`);
}
