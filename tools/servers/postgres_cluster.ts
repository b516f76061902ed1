/** A PostgreSQL cluster of the run's own: it can be stopped, crashed, filled and copied. */

import pg from "pg";
import { run } from "../process.ts";
import type { Programs } from "./programs.ts";
import { freePort, ServerProcess, unprivileged } from "./server_process.ts";

/** `fast`: as a person stops it; `immediate`: as if it had crashed. */
export type StopMode = "fast" | "immediate";

const SIGNALS: Readonly<Record<StopMode, Deno.Signal>> = { fast: "SIGINT", immediate: "SIGQUIT" };

/** A cluster that this process has started, in a folder that goes with it. */
export class PostgresCluster implements AsyncDisposable {
  readonly url: string;
  readonly #programs: Programs<"postgres">;
  readonly #dir: string;
  readonly #user: number | null;
  readonly #port = freePort();
  #process: ServerProcess | null = null;

  /** Makes a cluster and starts it; resolves once it answers. */
  static start(programs: Programs<"postgres">): Promise<PostgresCluster> {
    // Segments as small as can be: a file's limit has to be larger, and is to be reached soon.
    const settings = ["--auth=trust", "--username=postgres", "--no-sync", "--wal-segsize=1", "--no-locale"];
    return PostgresCluster.#make(programs, "initdb", ["--encoding=UTF8", ...settings]);
  }

  static async #make(
    programs: Programs<"postgres">,
    by: "initdb" | "pg_basebackup",
    args: readonly string[],
  ): Promise<PostgresCluster> {
    const dir = await Deno.makeTempDir({ prefix: "leveret-postgres-" });
    const cluster = new PostgresCluster(programs, dir, await unprivileged(dir));
    try {
      const { ok, output } = await run(programs[by], [`--pgdata=${dir}/data`, ...args], {
        capture: true,
        user: cluster.#user,
      });
      if (!ok) throw new Error(`Cannot make a PostgreSQL cluster: ${output}`);
      await cluster.boot();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(programs: Programs<"postgres">, dir: string, user: number | null) {
    this.#programs = programs;
    this.#dir = dir;
    this.#user = user;
    this.url = `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
  }

  /** Copies it while it runs, and starts the copy as its standby; a commit is answered once the standby has it. */
  async standby(): Promise<PostgresCluster> {
    const source = ["--host=127.0.0.1", `--port=${this.#port}`, "--username=postgres"];
    const settings = ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"];
    const standby = await PostgresCluster.#make(this.#programs, "pg_basebackup", [...source, ...settings]);
    await this.query("alter system set synchronous_standby_names = '*'");
    await this.query("select pg_reload_conf()");
    const inStep = "select 1 from pg_stat_replication where sync_state = 'sync'";
    while ((await this.query(inStep)).length === 0);
    return standby;
  }

  /** Starts it; resolves once it answers. */
  async boot(): Promise<void> {
    this.#process = new ServerProcess({
      name: "a PostgreSQL server",
      command: this.#programs.postgres,
      // What is written survives the process, which is all that is killed here.
      args: ["-D", `${this.#dir}/data`, "-p", `${this.#port}`, "-k", this.#dir, "-c", "fsync=off"],
      user: this.#user,
      port: this.#port,
      dir: this.#dir,
    });
    await this.#process.up();
    while (!await this.query("select 1").then(() => true, () => false));
  }

  /** Stops it; resolves once it has ended. */
  async stop(mode: StopMode): Promise<void> {
    await this.#process?.end(SIGNALS[mode]);
    this.#process = null;
  }

  /** Lets no file grow beyond so many bytes, as if the disk were full then; null: as far as the disk goes. */
  async limitFiles(bytes: number | null): Promise<void> {
    const backends = await this.query("select pid from pg_stat_activity where backend_type = 'client backend'");
    const limit = `--fsize=${bytes ?? "unlimited"}:unlimited`;
    for (const pid of [this.#process?.pid, ...backends.map((row) => row.pid)]) {
      const { ok, output } = await run(this.#programs.prlimit, ["--pid", String(pid), limit], {
        capture: true,
        user: this.#user,
      });
      // A backend may have ended meanwhile.
      if (!ok && pid === this.#process?.pid) throw new Error(`Cannot limit the files of PostgreSQL: ${output}`);
    }
  }

  /** Runs a statement on a connection of its own, which may write whatever the server's default is. */
  async query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const options = "-c default_transaction_read_only=off";
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 3_000, options });
    client.on("error", () => {});
    try {
      await client.connect();
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("immediate");
    await Deno.remove(this.#dir, { recursive: true });
  }
}
