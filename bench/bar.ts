/** What is to come out of a measurement, and what did. */

/** A bar, and the value that was to reach it. */
export interface Bar {
  readonly bar: number;
  readonly value: number;
  readonly isMet: boolean;
}

/** A bar that is met from its value upwards. */
export function atLeast(bar: number, value: number): Bar {
  return { bar, value, isMet: value >= bar };
}

/** A bar that is met up to its value. */
export function atMost(bar: number, value: number): Bar {
  return { bar, value, isMet: value <= bar };
}
