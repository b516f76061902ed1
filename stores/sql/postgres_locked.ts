/** Going round what somebody else has locked: one row must not hold up a whole batch. */

import type { Dialect } from "./dialect.ts";
import { TEXTS } from "./postgres_dialect.ts";
import { isLockTimeout } from "./postgres_errors.ts";
import { rows, type Steps } from "./work.ts";

/** Applies a batch, whatever of it is locked. */
export type GoRound<T> = (batch: readonly T[], apply: (batch: readonly T[]) => Steps<void>) => Steps<void>;

/**
 * Applies a batch in one. If a lock was waited for in vain, it applies what is free, then the rest one by one, and
 * throws at the end what could not be done still.
 */
export function goingRound<T extends { readonly executionId: string }>(dialect: Dialect): GoRound<T> {
  const findFree = dialect.text(`select id from saga_executions where id = any (${TEXTS}) for update skip locked`);

  return function* (batch, apply) {
    try {
      yield* apply(batch);
      return;
    } catch (error) {
      if (batch.length === 1 || !isLockTimeout(error)) throw error;
    }
    const ids = batch.map(({ executionId }) => executionId);
    const free = new Set((yield* rows(findFree, [dialect.list(ids)])).map((row) => row.id));
    const inFree = (one: T) => free.has(one.executionId);
    let failure: { readonly error: unknown } | null = null;
    for (const part of [batch.filter(inFree), ...batch.filter((one) => !inFree(one)).map((one) => [one])]) {
      if (part.length === 0) continue;
      try {
        yield* apply(part);
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        failure ??= { error };
      }
    }
    if (failure !== null) throw failure.error;
  };
}
