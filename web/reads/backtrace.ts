/** Backtraces as people read them: the frames of their own code first. */

const FOREIGN = /node_modules|node:internal|ext:|\/deno_core|<anonymous>$|native code|leveret[/_-]saga|@leveret\/saga/;

/** The frames that are likely to matter; all of them where none stands out. */
export function framesOf(backtrace: string | null): readonly string[] {
  if (backtrace === null) return [];
  const frames = backtrace.split("\n").map((line) => line.trim()).filter((line) => /^at /.test(line));
  const own = frames.filter((line) => !FOREIGN.test(line));
  return (own.length > 0 ? own : frames).slice(0, 8).map(shorter);
}

/** Paths of one's own project are long and all begin alike. */
function shorter(line: string): string {
  return line.replace(/^at /, "").replace(/file:\/\/(\/[^\s:)]*\/)?([^/\s]+\/[^/\s]+:\d+)/, "$2");
}
