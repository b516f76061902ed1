/** Compares texts by their bytes of UTF-8, as databases with a binary collation do. */
export function compareBytes(one: string, other: string): number {
  if (one === other) return 0;
  const [left, right] = [new TextEncoder().encode(one), new TextEncoder().encode(other)];
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const difference = left[index]! - right[index]!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
