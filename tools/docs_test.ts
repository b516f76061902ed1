/**
 * Keeps what the Markdown files say of the tree true. A link to a `.ts` file whose text is code names something that is
 * written there, a test as a rule: [`G01 a crash`](testing/engine_conformance/crashes.ts).
 */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import config from "../deno.json" with { type: "json" };

const FILES = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync("docs").filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
];

interface Link {
  readonly text: string;
  readonly target: string;
}

function linksOf(file: string): Link[] {
  const links = readFileSync(file, "utf8").matchAll(/\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)/g);
  return [...links].map(([, text = "", target = ""]) => ({ text, target })).filter(({ target }) =>
    !target.includes(":")
  );
}

/** The heading's address within its page. */
function slug(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N} -]/gu, "").replaceAll(" ", "-");
}

for (const file of FILES) {
  Deno.test(`${file} links to what is there`, () => {
    const broken = linksOf(file).filter(({ target }) => {
      const [path = "", anchor] = target.split("#");
      const page = path === "" ? file : posix.join(posix.dirname(file), path);
      if (!existsSync(page)) return true;
      if (anchor === undefined) return false;
      const headings = readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm);
      return ![...headings].some(([, heading = ""]) => slug(heading) === anchor);
    });
    assert.deepEqual(broken, []);
  });

  Deno.test(`${file} names tests that are there`, () => {
    const missing = linksOf(file).filter(({ target, text }) => {
      const named = /^`([^`]+)`$/.exec(text)?.[1];
      if (named === undefined || !target.endsWith(".ts")) return false;
      const page = posix.join(posix.dirname(file), target);
      return !existsSync(page) || !readFileSync(page, "utf8").includes(named);
    });
    assert.deepEqual(missing, []);
  });

  Deno.test(`${file} names paths and tasks that are there`, () => {
    const text = readFileSync(file, "utf8").replace(/```[\s\S]*?```/g, "");
    const paths = [...text.matchAll(/`((?:src|stores|exchanges|testing|examples|tools|docs|bench)\/[\w./-]+)`/g)];
    const tasks = [...text.matchAll(/deno(?:@[\d.]+)? task ([a-z-]+)/g)];
    assert.deepEqual(paths.map(([, path = ""]) => path).filter((path) => !existsSync(path)), []);
    assert.deepEqual(tasks.map(([, task = ""]) => task).filter((task) => !(task in config.tasks)), []);
  });
}

Deno.test("README.md and ARCHITECTURE.md name a test for each guarantee", () => {
  for (const file of ["README.md", "ARCHITECTURE.md"]) {
    const proofs = linksOf(file).filter(({ target, text }) => target.endsWith(".ts") && text.startsWith("`"));
    assert.ok(proofs.length > 20, `${file} names ${proofs.length} tests`);
  }
});

Deno.test("docs/console_checklist.md has every behaviour once, in order, with a test or a word about why there is none", () => {
  const text = readFileSync("docs/console_checklist.md", "utf8");
  const rows = [...text.matchAll(/^\| (W\d+) +\|[^|]*\|([^|]*)\|$/gm)];
  assert.deepEqual(rows.map(([, number]) => number), Array.from({ length: 82 }, (_, at) => `W${at + 1}`));
  const untested = rows.filter(([, , test = ""]) => !/^ *\[`/.test(test)).map(([, number]) => number!);
  assert.deepEqual(untested.filter((number) => !text.includes(`- ${number}: `)), []);
});
