import type { Span } from "./mark.ts";

/** The index of the first of the ordered, separate `spans` that ends behind `position`. */
export function firstEndingAfter(spans: readonly Span[], position: number): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((spans[middle]?.end ?? 0) > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** True when one of the ordered, separate `spans` has a character in common with `span`. */
export function overlapsAny(spans: readonly Span[], { start, end }: Span): boolean {
  const candidate = spans[firstEndingAfter(spans, start)];
  return candidate !== undefined && candidate.start < end;
}
