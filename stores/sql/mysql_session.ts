/** A connection while it is lent: statements that are sent together, and the transaction around them. */

import { SagaError } from "../../src/errors.ts";
import { endedInside } from "./body.ts";
import { isInTransaction, type MysqlConnection } from "./mysql_connection.ts";
import { StatementTooLarge } from "./mysql_errors.ts";
import { bytesOf, render } from "./mysql_text.ts";
import { type Answer, runLater, type Statement, type Work } from "./work.ts";

/** Ends a transaction, and may be sent together with its last statements. */
export const COMMIT = "commit";

const BEGIN = "start transaction";
const READ_COMMITTED = "set transaction isolation level read committed";
/** All its statements see one state of the database. */
const BEGIN_SNAPSHOT: readonly string[] = [
  "set transaction isolation level repeatable read",
  "start transaction with consistent snapshot, read only",
];

const NO_ROWS: readonly never[] = [];
/** What the server counts beside the text itself. */
const PACKET_MARGIN_BYTES = 1_024;

/**
 * Statements on one connection. What begins a transaction waits for the first statement and goes along with it: where
 * the connection takes several statements in one text, a transaction may be a single round trip.
 */
export class MysqlSession {
  readonly #connection: MysqlConnection;
  #ahead: readonly string[] = [];
  #isOpen = false;
  #mayEnd = true;
  #isPatient = false;

  constructor(connection: MysqlConnection) {
    this.#connection = connection;
  }

  get connection(): MysqlConnection {
    return this.#connection;
  }

  /** Whether a transaction may be open. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Longest statement that the server takes. */
  get maxBytes(): number {
    return this.#connection.server.maxPacketBytes - PACKET_MARGIN_BYTES;
  }

  /** From now on statements take as long as they take: they go through whole tables. */
  beginLong(): void {
    this.#isPatient = true;
  }

  /** Begins a transaction that locks first and reads afterwards what is there then: in READ COMMITTED. */
  begin(): void {
    this.#ahead = this.#connection.isOurs ? [BEGIN] : [READ_COMMITTED, BEGIN];
  }

  /** Begins such a transaction now, for statements that do not go through the session, and sees to it that it stays open. */
  async open(): Promise<void> {
    this.begin();
    this.#mayEnd = true;
    await this.send();
    this.#mayEnd = false;
  }

  /** Begins a transaction that only reads. */
  beginSnapshot(): void {
    this.#ahead = BEGIN_SNAPSHOT;
  }

  /** Runs statements one after another, in as few round trips as possible. The first that fails is the last that is run. */
  async send(...statements: readonly string[]): Promise<readonly Answer[]> {
    const all = [...this.#ahead, ...statements];
    const groups = this.#groupsOf(all);
    if (this.#ahead.length > 0) this.#isOpen = true;
    const skipped = this.#ahead.length;
    this.#ahead = [];
    const answers: Answer[] = [];
    for (const group of groups) answers.push(...await this.#ask(group));
    if (statements.at(-1) === COMMIT) this.#isOpen = false;
    return answers.slice(skipped);
  }

  /** Runs work, a round trip for each of its statements. */
  run<T>(work: Work<T>): Promise<T> {
    return runLater(work, async ({ sql, values }: Statement) => (await this.send(render(sql, values)))[0]!);
  }

  /** Commits what was written, if anything was asked at all. */
  async commit(): Promise<void> {
    this.#ahead = [];
    this.#mayEnd = true;
    if (this.#isOpen) await this.send(COMMIT);
  }

  /** Undoes what is open. Never throws: a connection on which that fails is thrown away, and the server undoes it. */
  async rollback(): Promise<void> {
    this.#ahead = [];
    this.#mayEnd = true;
    if (!this.#isOpen || this.#connection.isBroken) return;
    try {
      await this.send("rollback");
      this.#isOpen = false;
    } catch {
      this.#connection.breaks();
    }
  }

  async #ask(group: readonly string[]): Promise<readonly Answer[]> {
    const result = await this.#connection.send(group.join("; "), { isLong: this.#isPatient });
    const results = group.length === 1 ? [result] : result as readonly unknown[];
    if (results.length !== group.length) {
      throw new SagaError("internal", `Cannot read the answer: ${results.length} parts for ${group.length} statements`);
    }
    // A user who ended it by the driver's own means: what we write next would be committed by itself.
    if (!this.#mayEnd && isInTransaction(results.at(-1)) === false) throw endedInside("go on in");
    return results.map(answerOf);
  }

  /** What is sent in one text. */
  #groupsOf(statements: readonly string[]): readonly (readonly string[])[] {
    const { maxBytes } = this;
    const groups: string[][] = [];
    let bytes = Infinity;
    for (const sql of statements) {
      const size = bytesOf(sql);
      // The server would close the connection, and say so, if at all, to nobody.
      if (size > maxBytes) throw new StatementTooLarge(size, maxBytes);
      bytes += size + 2;
      if (this.#connection.takesSeveral && bytes <= maxBytes) {
        groups.at(-1)!.push(sql);
        continue;
      }
      groups.push([sql]);
      bytes = size;
    }
    return groups;
  }
}

function answerOf(result: unknown): Answer {
  if (Array.isArray(result)) return { rows: result, count: 0 };
  return { rows: NO_ROWS, count: Number((result as { affectedRows?: unknown } | null)?.affectedRows ?? 0) };
}
