export function commonPrefixLength<Entry>(one: readonly Entry[], other: readonly Entry[]): number {
  const maxLength = Math.min(one.length, other.length);
  let count = 0;
  while (count < maxLength && one[count] === other[count]) count++;
  return count;
}
