/** The definitions that an engine knows. */

import { SagaError, show } from "../errors.ts";
import type { Definition } from "./definition.ts";

/** Definitions by name and version. It never changes. */
export interface Registry {
  /** The definition of that name and version, or null. */
  get(name: string, version: number): Definition | null;
  /** The highest version of that name, or null. */
  latest(name: string): Definition | null;
  /** Names and versions of all of them, in the order in which they were given. */
  readonly keys: readonly Pick<Definition, "name" | "version">[];
}

/**
 * A registry of definitions; several versions of one name stand side by side.
 *
 * @throws {SagaError} `invalid_definition` for what is no definition, or one without steps; `duplicate_definition` for
 * one name and version given twice.
 */
export function registry(definitions: readonly Definition[]): Registry {
  if (!Array.isArray(definitions)) {
    throw new SagaError("invalid_options", `Cannot register definitions: ${show(definitions)} is no list of them`, {
      details: { path: "definitions" },
    });
  }
  const byName = new Map<string, Map<number, Definition>>();
  for (const [index, definition] of definitions.entries()) {
    const checked = checkDefinition(definition, `definitions[${index}]`);
    const versions = byName.get(checked.name) ?? new Map<number, Definition>();
    if (versions.has(checked.version)) throw duplicate(checked, `definitions[${index}]`);
    byName.set(checked.name, versions.set(checked.version, checked));
  }
  const latest = new Map([...byName].map(([name, versions]) => [name, versions.get(Math.max(...versions.keys()))]));
  return Object.freeze({
    get: (name: string, version: number) => byName.get(name)?.get(version) ?? null,
    latest: (name: string) => latest.get(name) ?? null,
    keys: Object.freeze(definitions.map(({ name, version }) => Object.freeze({ name, version }))),
  });
}

function checkDefinition(value: unknown, path: string): Definition {
  const problem = isDefinition(value)
    ? problemOf(value)
    : `${path} is ${show(value)}; use what saga() or workflow() returns`;
  if (problem === null) return value as Definition;
  throw new SagaError("invalid_definition", `Cannot register ${titleOf(value)}: ${problem}`, { details: { path } });
}

function isDefinition(value: unknown): value is Definition {
  if (typeof value !== "object" || value === null) return false;
  const { kind, name, version, plan, code, run } = value as Partial<Definition>;
  return (kind === "saga" || (kind === "workflow" && typeof run === "function")) && typeof name === "string" &&
    Number.isSafeInteger(version) &&
    code instanceof Map && typeof plan === "object" && plan !== null && Array.isArray(plan.steps);
}

function problemOf({ kind, plan, code }: Definition): string | null {
  if (kind === "workflow") return null;
  if (plan.steps.length === 0) return "it has no steps; add one with step()";
  const lost = plan.steps.find((step) => !code.has(step.name));
  return lost === undefined ? null : `its step ${show(lost.name)} has no code; use what saga() returns, unchanged`;
}

function titleOf(value: unknown): string {
  return isDefinition(value) ? `${value.kind} ${show(value.name)}` : "a definition";
}

function duplicate({ kind, name, version }: Definition, path: string): SagaError {
  return new SagaError(
    "duplicate_definition",
    `Cannot register ${kind} ${show(name)}: version ${version} is there already; give one of them another version`,
    { details: { path } },
  );
}
