/** Programs of servers that a run starts for itself: where this machine has them. */

/** What each server needs. */
export const SERVER_PROGRAMS = {
  rabbitmq: ["rabbitmq-server", "rabbitmqctl"],
  postgres: ["initdb", "postgres", "pg_basebackup", "prlimit"],
  mariadb: ["mariadb-install-db", "mariadbd"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A server of {@linkcode SERVER_PROGRAMS}. */
export type ServerKind = keyof typeof SERVER_PROGRAMS;

/** Paths of a server's programs, by their names. */
export type Programs<Kind extends ServerKind> = Readonly<Record<(typeof SERVER_PROGRAMS)[Kind][number], string>>;

/** RabbitMQ's own scripts may be run by anybody: Debian's in the path insist on the user rabbitmq and its folders. */
const RABBITMQ_FOLDERS = ["/usr/lib/rabbitmq/bin", "/usr/local/sbin", "/opt/rabbitmq/sbin"];
/** Debian keeps a folder for each version, none of them in the path. */
const POSTGRES_FOLDER = "/usr/lib/postgresql";

/** The programs of a server; null unless all of them are there. */
export async function findPrograms<Kind extends ServerKind>(kind: Kind): Promise<Programs<Kind> | null> {
  const folders = await likelyFolders();
  const found = new Map<string, string>();
  for (const name of SERVER_PROGRAMS[kind]) {
    const path = await firstFile(folders.map((folder) => `${folder}/${name}`));
    if (path === null) return null;
    found.set(name, path);
  }
  return Object.fromEntries(found) as Programs<Kind>;
}

async function likelyFolders(): Promise<readonly string[]> {
  const versions: string[] = [];
  try {
    for await (const { name } of Deno.readDir(POSTGRES_FOLDER)) versions.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const newestFirst = versions.sort((one, other) => Number(other) - Number(one));
  const inPath = (Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== "");
  const ofPostgres = newestFirst.map((version) => `${POSTGRES_FOLDER}/${version}/bin`);
  return [...RABBITMQ_FOLDERS, ...ofPostgres, ...inPath, "/usr/sbin"];
}

async function firstFile(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) {
    if (await Deno.stat(path).then(({ isFile }) => isFile, () => false)) return path;
  }
  return null;
}
