/**
 * Schemas: anything that follows Standard Schema v1 (https://standardschema.dev), which Zod, Valibot, ArkType and
 * others do. Only the part that is used is declared here.
 */

import { SagaError, show } from "../errors.ts";
import { pathPart, type Place, refusal } from "./check.ts";

/** A schema of values of type `T`. */
export interface StandardSchema<T = unknown> {
  /** What the standard asks for. */
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<T> | Promise<SchemaResult<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

/** What a schema says of a value. */
export type SchemaResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One thing that is wrong with a value. */
export interface SchemaIssue {
  /** In the words of the schema. */
  readonly message: string;
  /** Where in the value; not given for the value itself. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * A schema that only types: it lets every value pass.
 *
 * @example A signal whose payload is known to the compiler
 * ```ts
 * import { saga, typed } from "@leveret/saga";
 * import assert from "node:assert/strict";
 *
 * const order = saga("shop.order")
 *   .waitFor("fraud_check", { schema: typed<{ ok: boolean }>(), timeout: "1h" })
 *   .step("decide", ({ context, fail }) => context.fraud_check.ok ? { accepted: true } : fail("fraud"));
 *
 * assert.equal(order.plan.steps[0]?.pauseMs, 3_600_000);
 * ```
 */
export function typed<T>(): StandardSchema<T> {
  return { "~standard": { version: 1, vendor: "leveret", validate: (value) => ({ value: value as T }) } };
}

/**
 * The schema at a place.
 *
 * @throws {SagaError} `invalid_definition` or `invalid_options`, as the place says, for what does not follow Standard
 * Schema v1.
 */
export function checkSchema(place: Place, value: unknown): StandardSchema {
  // Some libraries' schemas are functions.
  if ((typeof value === "object" && value !== null) || typeof value === "function") {
    const standard = (value as Partial<StandardSchema>)["~standard"];
    if (standard?.version === 1 && typeof standard.validate === "function") return value as StandardSchema;
  }
  throw refusal(
    place,
    value,
    'use a schema that follows Standard Schema v1 (it has a "~standard" property), or typed<T>()',
  );
}

/** More issues than these only make a message longer. */
const MAX_ISSUES = 5;

/**
 * The value as the schema gives it back. `what` completes "Cannot accept …": `the input of saga "orders.checkout"`.
 *
 * @throws {SagaError} `invalid_input`, with up to five issues and the path of the first; `invalid_definition` where the
 * schema itself throws or answers something that Standard Schema does not know.
 */
export async function validate<T>(schema: StandardSchema<T>, value: unknown, what: string): Promise<T> {
  const result = await ask(schema, value, what);
  if (result.issues === undefined) return result.value;
  const paths = result.issues.slice(0, MAX_ISSUES).map(pathOf);
  const texts = result.issues.slice(0, MAX_ISSUES).map((issue, index) => `${paths[index]}: ${messageOf(issue)}`);
  const more = result.issues.length - texts.length;
  if (more > 0) texts.push(`and ${more} more`);
  throw new SagaError("invalid_input", `Cannot accept ${what}: ${texts.join("; ")}`, {
    details: { path: paths[0] ?? "$" },
  });
}

async function ask<T>(schema: StandardSchema<T>, value: unknown, what: string): Promise<SchemaResult<T>> {
  let result: unknown;
  try {
    result = await schema["~standard"].validate(value);
  } catch (cause) {
    throw new SagaError("invalid_definition", `Cannot accept ${what}: its schema throws; correct the schema`, {
      cause,
    });
  }
  if (isResult(result)) return result as SchemaResult<T>;
  throw new SagaError(
    "invalid_definition",
    `Cannot accept ${what}: its schema answers ${show(result)}, neither a value nor issues; correct the schema`,
  );
}

function isResult(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return false;
  const { issues } = result as { readonly issues?: unknown };
  return issues === undefined ? "value" in result : Array.isArray(issues);
}

function pathOf(issue: SchemaIssue | null | undefined): string {
  const path: unknown = issue?.path;
  if (!Array.isArray(path)) return "$";
  const keys = path.map((part) => typeof part === "object" && part !== null ? (part as { key: unknown }).key : part);
  return "$" + keys.map((key) => pathPart(typeof key === "number" ? key : String(key))).join("");
}

/** Longer messages are cut: some libraries repeat the whole value in them. */
const MAX_ISSUE_LENGTH = 200;

function messageOf(issue: SchemaIssue | null | undefined): string {
  const message: unknown = issue?.message;
  const text = typeof message === "string" && message !== "" ? message : "is not accepted";
  return text.length <= MAX_ISSUE_LENGTH ? text : `${text.slice(0, MAX_ISSUE_LENGTH - 1).toWellFormed()}…`;
}
