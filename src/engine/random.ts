/** Chance for the engine. */

/** Numbers in [0, 1) of 32 bits from the platform's cryptographic generator, which is asked for many at once. */
export function secureRandom(): () => number {
  const drawn = new Uint32Array(256);
  let next = drawn.length;
  return () => {
    if (next === drawn.length) {
      crypto.getRandomValues(drawn);
      next = 0;
    }
    return drawn[next++]! / 0x1_0000_0000;
  };
}
