/** Every index, ascending and overlapping ones too, at which `needle` stands in `lines`; linear even for repetitive text. */
export function findRuns(lines: readonly string[], needle: readonly string[], from: number): number[] {
  if (needle.length === 0) return [];
  const fallback = borders(needle);
  const found: number[] = [];
  let matched = 0;
  for (let at = from; at < lines.length; at += 1) {
    while (matched > 0 && lines[at] !== needle[matched]) matched = fallback[matched - 1] ?? 0;
    if (lines[at] === needle[matched]) matched += 1;
    if (matched === needle.length) {
      found.push(at - needle.length + 1);
      matched = fallback[matched - 1] ?? 0;
    }
  }
  return found;
}

/** For each prefix of `needle`, the length of its longest proper prefix that is also its suffix (Knuth-Morris-Pratt). */
function borders(needle: readonly string[]): number[] {
  const lengths = [0];
  let length = 0;
  for (let at = 1; at < needle.length; at += 1) {
    while (length > 0 && needle[at] !== needle[length]) length = lengths[length - 1] ?? 0;
    if (needle[at] === needle[length]) length += 1;
    lengths.push(length);
  }
  return lengths;
}
