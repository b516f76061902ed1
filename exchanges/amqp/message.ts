/** The message that carries a hint: what it looks like, and what is wrong with one that cannot be read. */

import { Buffer } from "node:buffer";
import { show } from "../../src/errors.ts";
import type { Hint } from "../../src/exchange.ts";

/** What was found in a message. */
export type Decoded =
  | { readonly kind: "hint"; readonly hint: Hint }
  | { readonly kind: "malformed"; readonly reason: string; readonly isOversized: boolean };

/** Far above any hint (an id has at most 255 bytes, a step 200), and far below what takes long to read. */
const MAX_BODY_BYTES = 64 * 1024;
/** Longest id of an execution, in bytes of UTF-8. */
const MAX_ID_BYTES = 255;

/** The body of the message. */
export function encodeHint({ executionId, epoch, step, direction }: Hint): Buffer {
  return Buffer.from(JSON.stringify({ execution_id: executionId, epoch, step, direction }));
}

/** Reads a message of a partition's queue; fields that it does not know are left alone. */
export function decodeHint(body: Uint8Array, partition: string): Decoded {
  if (body.length > MAX_BODY_BYTES) {
    const reason = `its ${body.length} bytes are more than the ${MAX_BODY_BYTES} of a hint`;
    return { kind: "malformed", reason, isOversized: true };
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return malformed("it is not JSON in UTF-8");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return malformed(`it is ${show(value)}, not an object`);
  }
  const { execution_id: executionId, epoch, step, direction } = value as Readonly<Record<string, unknown>>;
  if (typeof executionId !== "string" || executionId === "") return malformed(wrong("execution_id", executionId));
  if (Buffer.byteLength(executionId) > MAX_ID_BYTES) {
    return malformed(`execution_id has more than ${MAX_ID_BYTES} bytes`);
  }
  if (!Number.isSafeInteger(epoch) || (epoch as number) < 0) return malformed(wrong("epoch", epoch));
  if (typeof step !== "string") return malformed(wrong("step", step));
  if (direction !== "execute" && direction !== "compensate") return malformed(wrong("direction", direction));
  return { kind: "hint", hint: { executionId, epoch: epoch as number, partition, step, direction } };
}

function wrong(field: string, value: unknown): string {
  return value === undefined ? `${field} is missing` : `${field} is ${show(value)}`;
}

function malformed(reason: string): Decoded {
  return { kind: "malformed", reason, isOversized: false };
}
