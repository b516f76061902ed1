/** Child processes of the tasks. */

/** How a child process is run. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Keeps what it writes instead of passing it on. */
  readonly capture?: boolean;
  /** User and group it runs as; this process's own unless it is given. */
  readonly user?: number | null;
}

/** How a child process ended; `output` is what it wrote, if it was captured. */
export interface RunEnd {
  readonly ok: boolean;
  readonly output: string;
}

/** Runs a command to its end. One that does not exist has failed, with a sentence as its output. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunEnd> {
  const stdio = options.capture ? "piped" : "inherit";
  const child = new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    stdout: stdio,
    stderr: stdio,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.user == null ? {} : { uid: options.user, gid: options.user }),
  });
  try {
    if (!options.capture) return { ok: (await child.spawn().status).success, output: "" };
    const { success, stdout, stderr } = await child.output();
    const text = new TextDecoder();
    return { ok: success, output: text.decode(stdout) + text.decode(stderr) };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { ok: false, output: `there is no command ${command}` };
  }
}

/** Runs this Deno. */
export function runDeno(args: readonly string[], options: RunOptions = {}): Promise<RunEnd> {
  return run(Deno.execPath(), args, options);
}

/** Runs `use` with a temporary folder that is gone afterwards. */
export async function withTempDir<T>(use: (dir: string) => Promise<T>): Promise<T> {
  const dir = await Deno.makeTempDir({ prefix: "leveret-" });
  try {
    return await use(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Writes in pieces: whoever reads may be slow, and a pipe that is full and does not block refuses more. */
export async function show(text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let begin = 0; begin < bytes.length;) {
    try {
      begin += Deno.stdout.writeSync(bytes.subarray(begin, begin + PIECE));
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

const PIECE = 4_096;
