/** The order of texts on every store: byte by byte, as UTF-8. JavaScript's own differs beyond U+FFFF. */

/** Negative if `one` stands before `other`, 0 if they are the same. */
export function compareText(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a === b) continue;
    // Halves of pairs stand for what lies beyond all other units.
    if (isSurrogate(a) !== isSurrogate(b)) return isSurrogate(a) ? 1 : -1;
    return a - b;
  }
  return one.length - other.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
