/**
 * Keeps the arrows between the layers true: a module imports from its own layer and from those named here, and from
 * nothing else. Types count: a layer that knows another's types depends on it. Tests may import anything.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";

interface Layer {
  /** Paths that belong to it: files, or folders with a slash at the end. The first layer that matches has a module. */
  readonly paths: readonly string[];
  /** Layers, or single files of a layer that is otherwise out of reach. */
  readonly mayImport: readonly string[];
  /** What it may import from outside of the project. */
  readonly external?: readonly RegExp[];
}

const LAYERS: Readonly<Record<string, Layer>> = {
  domain: { paths: ["src/domain/"], mayImport: [] },
  contracts: {
    paths: [
      "src/store.ts",
      "src/queries.ts",
      "src/queries/",
      "src/exchange.ts",
      "src/errors.ts",
      "src/clock.ts",
      "src/logger.ts",
    ],
    mayImport: ["domain", "src/definition/scope.ts"],
    external: [/^node:timers$/],
  },
  definition: { paths: ["src/definition/"], mayImport: ["domain", "contracts"] },
  stores: {
    paths: ["stores/"],
    mayImport: ["domain", "contracts", "src/definition/scope.ts"],
    external: [/^node:/, /^pg$/, /^mysql2(\/promise)?$/],
  },
  exchanges: {
    paths: ["exchanges/"],
    mayImport: ["domain", "contracts", "src/definition/scope.ts"],
    external: [/^node:/, /^amqplib$/, /^pg$/],
  },
  engine: {
    paths: ["src/engine/"],
    // The local exchange is what an engine uses that is given none.
    mayImport: ["domain", "contracts", "definition", "exchanges/local.ts"],
    external: [/^node:(async_hooks|crypto|timers)$/],
  },
  testing: {
    paths: ["testing/"],
    mayImport: ["domain", "contracts", "definition", "engine", "exchanges", "stores/memory.ts", "stores/memory/"],
    // The conformance suites try values that nobody would think of.
    external: [/^node:(assert\/strict|timers|async_hooks|util)$/, /^fast-check$/],
  },
  cli: {
    paths: ["cli/"],
    mayImport: ["domain", "contracts", "definition", "engine", "stores"],
    external: [/^node:/],
  },
  // Drawn on the server and in the browser: knows records by their types and formats, and no engine.
  "web/view": { paths: ["web/view/"], mayImport: [], external: [/^preact(\/hooks)?$/] },
  "web/client": { paths: ["web/client/"], mayImport: ["web/view"], external: [/^preact(\/hooks)?$/] },
  web: {
    paths: ["web/"],
    mayImport: ["domain", "contracts", "definition", "engine", "web/view"],
    external: [/^hono(\/route)?$/, /^preact$/, /^preact-render-to-string$/],
  },
  main: { paths: ["mod.ts"], mayImport: ["domain", "contracts", "definition", "engine", "exchanges/local.ts"] },
};

interface Import {
  readonly from: string;
  /** A path within the project, or the specifier of something outside. */
  readonly to: string;
  readonly external: boolean;
  readonly typeOnly: boolean;
}

const MODULES = ["mod.ts", ...["src", "stores", "exchanges", "testing", "cli", "web"].flatMap(modulesIn)];
const SOURCES = new Map(MODULES.map((path) => [path, withoutComments(readFileSync(path, "utf8"))]));
const IMPORTS = MODULES.flatMap(importsOf);

Deno.test("layers: imports are seen, of types and of values, from inside and outside", () => {
  const from = (path: string) => IMPORTS.filter((one) => one.from === path);
  assert.deepEqual(from("src/exchange.ts"), [
    { from: "src/exchange.ts", to: "src/domain/record.ts", external: false, typeOnly: true },
  ]);
  assert.deepEqual(from("src/clock.ts"), [
    { from: "src/clock.ts", to: "node:timers", external: true, typeOnly: false },
  ]);
});

Deno.test("layers: every module belongs to one", () => {
  assert.deepEqual(MODULES.filter((path) => layerOf(path) === undefined), []);
});

for (const [name, layer] of Object.entries(LAYERS)) {
  Deno.test(`layers: ${name} imports from ${layer.mayImport.join(", ") || "itself"} only`, () => {
    const wrong = IMPORTS.filter(({ from }) => layerOf(from) === name).filter((one) => !isAllowed(name, layer, one));
    assert.deepEqual(wrong.map(({ from, to }) => `${from} → ${to}`), []);
  });
}

Deno.test("layers: the main entry pulls in no driver, no database and no framework", () => {
  const reached = new Set<string>();
  const outside = new Set<string>();
  const visit = (path: string) => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const { to, external, typeOnly } of IMPORTS.filter(({ from }) => from === path)) {
      if (external) outside.add(to);
      else if (!typeOnly) visit(to);
    }
  };
  visit("mod.ts");
  assert.deepEqual([...outside].filter((to) => !/^node:(async_hooks|crypto|timers)$/.test(to)), []);
  assert.deepEqual([...reached].filter((path) => /^(stores|testing|web|cli)\//.test(path)), []);
});

Deno.test("layers: the domain knows no time, chance, waiting or surroundings", () => {
  const words = /\b(Date\.now|new Date\(\)|Math\.random|crypto|Promise|async|await|setTimeout|setInterval|console)\b/;
  const wrong = [...SOURCES].filter(([path, text]) => layerOf(path) === "domain" && words.test(text));
  assert.deepEqual(wrong.map(([path]) => path), []);
});

Deno.test("layers: the library runs on Node too and reads no environment", () => {
  // A command is told by its surroundings what to do.
  const library = [...SOURCES].filter(([path]) => layerOf(path) !== "cli");
  const wrong = library.filter(([, text]) => /\b(Deno\.|process\.(env|argv)|import\.meta\.main)/.test(text));
  assert.deepEqual(wrong.map(([path]) => path), []);
});

Deno.test("layers: no module has state of its own that changes", () => {
  const wrong = [...SOURCES].filter(([, text]) => /^(export )?(let|var) /m.test(text));
  assert.deepEqual(wrong.map(([path]) => path), []);
});

function isAllowed(name: string, layer: Layer, { to, external }: Import): boolean {
  if (external) return layer.external?.some((pattern) => pattern.test(to)) ?? false;
  const target = layerOf(to);
  return target === name || layer.mayImport.some((allowed) => allowed === target || covers(allowed, to));
}

function layerOf(path: string): string | undefined {
  return Object.entries(LAYERS).find(([, { paths }]) => paths.some((one) => covers(one, path)))?.[0];
}

function covers(pattern: string, path: string): boolean {
  return pattern.endsWith("/") ? path.startsWith(pattern) : path === pattern;
}

function modulesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => posix.join(folder, name.replaceAll("\\", "/")))
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith("_test.ts"))
    // What only tests use is not published, and may import anything.
    .filter((path) => !path.includes("/fixtures/") && !path.startsWith("src/domain/testing_"))
    .sort();
}

function importsOf(from: string): Import[] {
  const text = SOURCES.get(from)!;
  const statements = text.matchAll(/^(?:import|export)\b(\s+type\b)?[^;"']*?from\s+["']([^"']+)["']/gm);
  const bare = text.matchAll(/^import()\s+["']([^"']+)["']/gm);
  const dynamic = text.matchAll(/\bimport\(()\s*["']([^"']+)["']/g);
  return [...statements, ...bare, ...dynamic].map(([, type = "", to = ""]) => {
    const external = !to.startsWith(".");
    return { from, to: external ? to : posix.join(posix.dirname(from), to), external, typeOnly: type !== "" };
  });
}

/** Examples in comments import from the package; that is no import of the module. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}
