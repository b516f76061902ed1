/**
 * Schemas: anything that follows Standard Schema v1 (https://standardschema.dev), which Zod, Valibot, ArkType and
 * others do. Only the part that is used is declared here.
 */

/** A schema of values of type `T`. */
export interface StandardSchema<T = unknown> {
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
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema that only types: it lets every value pass. */
export function typed<T>(): StandardSchema<T> {
  return { "~standard": { version: 1, vendor: "leveret", validate: (value) => ({ value: value as T }) } };
}
