/** A MariaDB server of the run's own: it can be stopped, crashed, filled and replicated. */

import { createConnection } from "mysql2/promise";
import { run } from "../process.ts";
import type { Programs } from "./programs.ts";
import { freePort, ServerProcess, unprivileged } from "./server_process.ts";

/** `graceful`: as a person stops it; `immediate`: as if it had crashed. */
export type StopMode = "graceful" | "immediate";

const SIGNALS: Readonly<Record<StopMode, Deno.Signal>> = { graceful: "SIGTERM", immediate: "SIGKILL" };

/** The database in which a run works. */
const DATABASE = "saga";

/** As small and as quick as a server can be that keeps what it has answered when its process dies. */
const SETTINGS = [
  "--innodb-buffer-pool-size=32M",
  "--innodb-log-file-size=8M",
  "--innodb-flush-log-at-trx-commit=2",
  "--skip-name-resolve",
  "--bind-address=127.0.0.1",
];

/** A server that this process has started, in a folder that goes with it. */
export class MariadbServer implements AsyncDisposable {
  /** For a user who may do anything in the database, and nothing to the server. */
  readonly url: string;
  readonly #programs: Programs<"mariadb">;
  readonly #dir: string;
  readonly #user: number | null;
  readonly #settings: readonly string[];
  readonly #port = freePort();
  #process: ServerProcess | null = null;

  /** Makes a server and starts it; resolves once it answers. */
  static async start(programs: Programs<"mariadb">, settings: readonly string[] = []): Promise<MariadbServer> {
    const dir = await Deno.makeTempDir({ prefix: "leveret-mariadb-" });
    const server = new MariadbServer(programs, dir, { user: await unprivileged(dir), settings });
    try {
      await server.#install();
      await server.boot();
      await server.query(`create database ${DATABASE}`, "");
      await server.query("create user app@'127.0.0.1'");
      await server.query(`grant all on ${DATABASE}.* to app@'127.0.0.1'`);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(
    programs: Programs<"mariadb">,
    dir: string,
    { settings, user }: { readonly user: number | null; readonly settings: readonly string[] },
  ) {
    this.#programs = programs;
    this.#dir = dir;
    this.#user = user;
    this.#settings = [...SETTINGS, ...settings];
    this.url = `mysql://app@127.0.0.1:${this.#port}/${DATABASE}`;
  }

  /** Starts it, with these settings in place of those it has; resolves once it answers. */
  async boot(settings: readonly string[] = []): Promise<void> {
    const dir = this.#dir;
    this.#process = new ServerProcess({
      name: "a MariaDB server",
      command: this.#programs.mariadbd,
      args: [
        "--no-defaults",
        `--datadir=${dir}/data`,
        `--socket=${dir}/socket`,
        `--pid-file=${dir}/pid`,
        `--log-error=${dir}/log`,
        `--port=${this.#port}`,
        ...this.#settings,
        ...settings,
      ],
      user: this.#user,
      port: this.#port,
      dir,
    });
    await this.#process.up();
  }

  /** Stops it; resolves once it has ended. */
  async stop(mode: StopMode): Promise<void> {
    await this.#process?.end(SIGNALS[mode]);
    this.#process = null;
  }

  /** Makes it a replica of another server, both of them just started: that answers a commit once the replica has it. */
  async follow(primary: MariadbServer): Promise<void> {
    const source = `master_host = '127.0.0.1', master_port = ${primary.#port}, master_user = 'root'`;
    // It would wait for a replica from here on.
    await primary.query("set global rpl_semi_sync_master_timeout = 600000");
    await primary.query("set global rpl_semi_sync_master_enabled = on");
    await this.query("set global rpl_semi_sync_slave_enabled = on");
    await this.query("reset master");
    // What both have done to begin with need not be done again.
    const [position] = await primary.query("select @@gtid_binlog_pos as done");
    await this.query(`set global gtid_slave_pos = '${position?.done}'`);
    await this.query(`change master to ${source}, master_use_gtid = slave_pos`);
    await this.query("set global read_only = on");
    await this.query("start slave");
    for (;;) {
      const [row] = await primary.query("show status like 'Rpl_semi_sync_master_clients'");
      if (row?.Value === "1") return;
    }
  }

  /** Makes a replica whose primary is gone a server of its own, once it has done all that it was sent. */
  async promote(): Promise<void> {
    await this.query("stop slave io_thread");
    for (;;) {
      const [row] = await this.query("show slave status");
      const [position] = await this.query("select @@gtid_slave_pos as done");
      if (row?.Gtid_IO_Pos === position?.done) break;
    }
    await this.query("stop slave");
    await this.query("set global read_only = off");
  }

  /** Runs a statement as root, on a connection of its own. */
  async query(sql: string, database = DATABASE): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const uri = `mysql://root@127.0.0.1:${this.#port}/${database}`;
    const connection = await createConnection({ uri, connectTimeout: 3_000 });
    try {
      const [rows] = await connection.query(sql);
      return rows as readonly Readonly<Record<string, unknown>>[];
    } finally {
      await connection.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("immediate");
    await Deno.remove(this.#dir, { recursive: true });
  }

  async #install(): Promise<void> {
    const args = [
      "--no-defaults",
      `--datadir=${this.#dir}/data`,
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
      ...this.#settings.filter((setting) => setting.startsWith("--innodb")),
    ];
    const { ok, output } = await run(this.#programs["mariadb-install-db"], args, { capture: true, user: this.#user });
    if (!ok) throw new Error(`Cannot make a MariaDB server: ${output}`);
  }
}
