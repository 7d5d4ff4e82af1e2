/** How many entries two lists have in common, counted from their beginning. */
export function sharedBeginning<Entry>(one: readonly Entry[], other: readonly Entry[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count++;
  return count;
}
