import { commonPrefixLength } from "../../lib/text/common-prefix-length.ts";

const FIRST_CAPACITY = 64 * 1024;

/**
 * Writes request bodies that consist of a list of JSON texts between two other texts. A conversation mostly grows at its end, so
 * the bytes of leading items that have not changed are reused: encoding a long list again would take longer than the rest of a
 * step.
 */
export function createListBody(): (before: string, items: readonly string[], after: string) => Buffer {
  let bytes = Buffer.allocUnsafe(FIRST_CAPACITY);
  let written: readonly string[] = [];
  let ends: number[] = []; // where each item ends in `bytes`
  const append = (text: string, at: number): number => {
    const end = at + Buffer.byteLength(text);
    if (end > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, bytes.length * 2));
      bytes.copy(larger, 0, 0, at);
      bytes = larger;
    }
    bytes.write(text, at);
    return end;
  };
  return (before, items, after) => {
    ends = ends.slice(0, commonPrefixLength(written, items));
    for (const item of items.slice(ends.length))
      ends.push(append(ends.length === 0 ? item : `,${item}`, ends.at(-1) ?? 0));
    written = items;
    return Buffer.concat([Buffer.from(before), bytes.subarray(0, ends.at(-1) ?? 0), Buffer.from(after)]);
  };
}
