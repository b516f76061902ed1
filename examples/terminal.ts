/** Text for terminals: colours, widths, tables, and lines that stay at the bottom while others scroll by. */

/** Colours and the like; every function returns its text unchanged where there are none. */
export type Style = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  strike: [9, 29],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

/** The style of a terminal, or of none. */
export function styleOf(hasColour: boolean): Style {
  const paint = ([on, off]: readonly [number, number]) => (text: string) =>
    hasColour && text !== "" ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  const entries = Object.entries(CODES).map(([name, codes]) => [name, paint(codes)] as const);
  return Object.fromEntries(entries) as unknown as Style;
}

// deno-lint-ignore no-control-regex
const ESCAPES = /\x1b\[[\d;]*m/g;

/** Columns that a text takes. */
export function widthOf(text: string): number {
  return [...text.replace(ESCAPES, "")].length;
}

/** The text in at most `width` columns, with an ellipsis where something is left out. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let left = width - 1;
  // deno-lint-ignore no-control-regex
  const parts = text.split(/(\x1b\[[\d;]*m)/);
  const kept = parts.map((part, index) => {
    if (index % 2 === 1) return part; // escapes take no room, and the last ones end what was begun
    const letters = [...part].slice(0, Math.max(0, left));
    left -= letters.length;
    return letters.join("");
  });
  return `${kept.join("")}…`;
}

/** The text, filled up with spaces. */
export function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** Rows under their headings; where they do not fit side by side, one cell a line. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[], width: number): string[] {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ""))));
  const total = widths.reduce((sum, one) => sum + one + 2, 0);
  if (total <= width) {
    return all.map((row) => `  ${row.map((cell, column) => pad(cell, widths[column] ?? 0)).join("  ")}`.trimEnd());
  }
  const label = Math.max(...headings.slice(1).map(widthOf));
  return rows.flatMap(([first = "", ...rest]) => [
    `  ${first}`,
    ...rest.map((cell, index) => `    ${pad(headings[index + 1] ?? "", label)}  ${cell}`),
  ]);
}

/** Lines that are written once, above lines that are drawn again and again. */
export class LiveLines {
  readonly #encoder = new TextEncoder();
  #drawn = 0;

  /** Writes lines for good, and draws the live ones under them. */
  draw(lines: readonly string[], live: readonly string[]): void {
    const up = this.#drawn === 0 ? "" : `\x1b[${this.#drawn}A`;
    this.#drawn = live.length;
    const text = [...lines, ...live].map((line) => `${line}\n`).join("");
    // One write, so that nothing is seen of the way from the old picture to the new one.
    this.#write(`\x1b[?25l${up}\r\x1b[J${text}`);
  }

  /** Takes the live lines away and gives the cursor back. */
  end(): void {
    this.draw([], []);
    this.#write("\x1b[?25h");
  }

  #write(text: string): void {
    try {
      Deno.stdout.writeSync(this.#encoder.encode(text));
    } catch {
      // The terminal was closed: nobody watches any more, and the program has to get to its end all the same.
    }
  }
}
