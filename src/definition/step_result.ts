/**
 * What a step may return, and what becomes of it, as types.
 *
 * A type that does not fit is answered with a {@linkcode Refused}, whose sentence stands in the compile error. Types
 * that fit are answered with something that they are assignable to, though never with themselves: a constraint that
 * mentions `string` makes the compiler keep the literal type of `{ status: "new" }`, and then no later step could write
 * `{ status: "paid" }`.
 */

import type { Json } from "../domain/json.ts";
import type { Skip, Verdict } from "./verdict.ts";

/** A type that no value has: its sentence is what a compile error shows. */
export interface Refused<Sentence extends string> {
  /** Why it is refused, and what to do. */
  readonly "~refused": Sentence;
}

/** What JSON has beside objects and lists. */
export type Primitive = string | number | boolean | null;

/** What every string is assignable to, and no other JSON value. */
export interface AnyText {
  /** As text has it. */
  charCodeAt(index: number): number;
}
/** What every number is assignable to. */
export interface AnyNumber {
  /** As numbers have it. */
  toFixed(digits?: number): string;
}
/** What every boolean is assignable to. */
export interface AnyBoolean {
  /** As booleans have it. */
  valueOf(): boolean;
}

/** What `T` is assignable to if JSON keeps it; a sentence, at the place that JSON would lose, if not. */
export type JsonCheck<T> =
  // As a whole, not member by member: the answer to one member would hide the refusal of another. It also keeps the
  // recursive `Json` from being unfolded.
  [T] extends [Json] ? unknown : JsonCheckOfEach<T>;

/** The same for each member of a union; `string` and the like get here beside one that is refused. */
export type JsonCheckOfEach<T> = unknown extends T ? Refused<"type unknown: give the value a type">
  : T extends string ? AnyText
  : T extends number ? AnyNumber
  : T extends boolean ? AnyBoolean
  : T extends null ? null
  : T extends undefined ? Refused<"undefined is lost in JSON: use null">
  : T extends bigint ? Refused<"JSON has no bigint: use a string">
  : T extends symbol ? Refused<"symbols are lost in JSON">
  : T extends Verdict ? Refused<"a verdict is returned by itself, not inside of a result">
  : T extends (...args: never[]) => unknown ? Refused<"functions are lost in JSON">
  : T extends Date ? Refused<"a Date becomes text in JSON: use toISOString()">
  : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> ? Refused<"a Map or Set becomes {} in JSON">
  : T extends PromiseLike<unknown> ? Refused<"a promise that was not awaited">
  : T extends readonly unknown[] ? { [K in keyof T]: JsonCheck<T[K]> }
  : { [K in keyof T]: PropertyCheck<T[K]> };

/** A property that is undefined is left out, which is what an optional property is. */
export type PropertyCheck<T> = undefined extends T ? JsonCheck<Exclude<T, undefined>> | undefined : JsonCheck<T>;

/** {@linkcode JsonCheck} of each property, which must also fit what earlier steps wrote under its key. */
export type PatchCheck<T, Context> = {
  [K in keyof T]: K extends keyof Context
    ? (T[K] extends Context[K] ? PropertyCheck<T[K]> : Refused<"an earlier step wrote this key with another type">)
    : PropertyCheck<T[K]>;
};

/** An object that is neither a list nor a function. */
export interface PlainObject {
  /** Lists have it. */
  readonly [Symbol.iterator]?: Refused<"a step returns an object to merge, not a list">;
  /** Functions have it. */
  readonly [Symbol.hasInstance]?: Refused<"a step returns an object to merge, not a function">;
}

/** What a step may return: an object to merge into the context, a verdict, or nothing. */
export type StepResult<T, Context> = (PatchCheck<T, Context> & object & PlainObject) | void;

/** What an input may be: an object that JSON keeps. */
export type InputCheck<T> = PatchCheck<T, unknown> & object & PlainObject;

/** Read-only to its leaves. */
export type DeepReadonly<T> =
  // `Json` is read-only already, and recursive: it must not be unfolded.
  [Json] extends [T] ? T : T extends Primitive | undefined ? T : { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** What a step that returned `T` has written, when it has written something. */
export type WrittenOf<T> = DeepReadonly<Exclude<T, Verdict | void | undefined>>;

/** What a step adds to the context: its keys are optional where it may be skipped or return nothing. */
export type PatchOf<T> = [WrittenOf<T>] extends [never] ? unknown
  : [Extract<T, NothingWritten>] extends [never] ? WrittenOf<T>
  : Partial<WrittenOf<T>>;

/** What a step returns that writes nothing. */
export type NothingWritten = Skip | void | undefined;

/** What an undo is told of what its step has written. */
export type UndoWritten<T, UndoOnFailure> =
  | WrittenOf<T>
  | (true extends UndoOnFailure ? undefined : never)
  | ([Extract<T, void | undefined>] extends [never] ? never : undefined);
