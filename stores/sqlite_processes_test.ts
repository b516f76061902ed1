import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "./sqlite.ts";
import { MIGRATIONS } from "./sql/migrations.ts";

const SCRIPT = new URL("./fixtures/sqlite_process.ts", import.meta.url).pathname;

/** Starts processes that share a new file, lets them all begin at once, and looks at the file when they have ended. */
async function withProcesses(
  { processes, rounds }: { readonly processes: number; readonly rounds: number },
  look: (path: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/saga.db`;
  const children = Array.from({ length: processes }, (_, index) =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--allow-all", SCRIPT, path, `process_${index}`, String(rounds)],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn());
  try {
    const outputs = children.map((child) => child.stdout.getReader());
    await Promise.all(outputs.map((output) => output.read()));
    await Promise.all(children.map(letBegin));
    await Promise.all(outputs.map((output) => output.cancel()));
    for (const child of children) {
      const [errors, { code }] = await Promise.all([new Response(child.stderr).text(), child.status]);
      assert.equal(code, 0, errors);
    }
    await look(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function letBegin(child: Deno.ChildProcess): Promise<void> {
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode("begin\n"));
  await writer.close();
}

Deno.test("two processes that commit on one file at once lose nothing", () =>
  withProcesses({ processes: 2, rounds: 150 }, async (path) => {
    const store = sqliteStore({ path });
    const [shared] = await store.load(["shared"]);
    const names = Array.from({ length: 150 }, (_, round) => [`process_0_${round}`, `process_1_${round}`]).flat();
    assert.deepEqual(shared!.attempts.map((attempt) => attempt.stepName).sort(), names.sort());
    assert.equal(shared!.execution.revision, 1 + names.length);
    const own = await store.load(names.map((name) => name.replace(/_(?=\d+$)/, "-")));
    assert.ok(own.every((record) => record?.execution.revision === 2 && record.attempts.length === 1));
    await store.close();
  }));

Deno.test("ten processes that migrate one new file at once make one set of tables", () =>
  withProcesses({ processes: 10, rounds: 1 }, (path) => {
    using database = new DatabaseSync(path);
    const versions = database.prepare("select version from leveret_schema order by version").all();
    assert.deepEqual(versions.map((row) => row.version), MIGRATIONS.map(({ version }) => version));
    assert.equal(database.prepare("select count(*) as n from saga_executions").get()!.n, 11);
    return Promise.resolve();
  }));
