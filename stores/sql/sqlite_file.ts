/** The file behind a connection: whether its path still leads to it. */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";

/** Where the path leads, compared with what was opened. */
export type FileState =
  /** Nothing was opened yet, or it is no file. */
  | "unknown"
  | "same"
  /** Deleted, moved, or its disk is away. */
  | "gone"
  /** Another file is in its place. */
  | "replaced";

interface Identity {
  readonly device: number;
  readonly inode: number;
}

/**
 * Knows a file again. SQLite goes on with a file that was deleted or replaced as if nothing had happened: what it commits
 * is in a file that nobody else can open, and gone with the process.
 */
export class SqliteFile {
  #path: string | null = null;
  #opened: Identity | null = null;

  /** Keeps in mind which file was opened at the path just now. */
  remember(path: string, database: DatabaseSync): void {
    // Absolute, so that a change of the working directory is not taken for a file that is gone.
    this.#path = path.startsWith("file:") ? database.location?.() ?? null : resolve(path);
    this.#opened = this.#look() ?? null;
  }

  /** Where the path leads now. */
  get state(): FileState {
    if (this.#opened === null) return "unknown";
    const found = this.#look();
    if (found === undefined) return "unknown";
    if (found === null) return "gone";
    return found.device === this.#opened.device && found.inode === this.#opened.inode ? "same" : "replaced";
  }

  /** What is at the path; null if nothing is, undefined if it cannot be told, so that SQLite says what is wrong. */
  #look(): Identity | null | undefined {
    if (this.#path === null) return undefined;
    try {
      const found = statSync(this.#path, { throwIfNoEntry: false });
      return found === undefined ? null : { device: found.dev, inode: found.ino };
    } catch (error) {
      return (error as { code?: unknown }).code === "ENOTDIR" ? null : undefined;
    }
  }
}
