/** Tells a fault of the code from a failure of the business: a typo in a deploy must not refund every order. */

/** Texts of the runtime's own TypeErrors (V8); `fetch` reports a network outage as a TypeError with another text. */
const RUNTIME_TYPE_ERRORS = [
  /is not a function/,
  /is not a constructor/,
  /is not iterable/,
  /is not defined/,
  /Cannot read propert(y|ies) of/,
  /Cannot set propert(y|ies) of/,
  /Cannot destructure/,
  /Cannot convert undefined or null to object/,
  /Cannot assign to read only property/,
  /Cannot add property .* object is not extensible/,
  /Cannot delete property/,
  /Assignment to constant variable/,
];

/**
 * Whether an error tells of wrong code: a ReferenceError, a failed assertion, a stack overflow, or one of the runtime's
 * own TypeErrors without a `cause`. Such an error is retried like any other; out of attempts it blocks the execution
 * instead of undoing it.
 */
export function isBug(error: unknown): boolean {
  try {
    return tellsOfWrongCode(error);
  } catch {
    return false; // a getter that throws: whatever it is, it is none of the runtime's own errors
  }
}

function tellsOfWrongCode(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof ReferenceError || error.name === "AssertionError") return true;
  if (error instanceof RangeError) return /Maximum call stack size exceeded/.test(error.message);
  if (!(error instanceof TypeError) || error.cause !== undefined) return false;
  return RUNTIME_TYPE_ERRORS.some((text) => text.test(error.message));
}
