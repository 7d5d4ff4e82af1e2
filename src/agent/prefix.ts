import { sharedBeginning } from "../lib/shared-beginning.ts";

/** Where a prompt stops beginning as an earlier one did; undefined when the earlier one is its beginning. */
export function findBreak(
  earlier: readonly string[],
  later: readonly string[],
): { readonly at: number; readonly what: string } | undefined {
  const at = sharedBeginning(earlier, later);
  if (at === earlier.length) return undefined;
  // The order in which providers hash a body: tools, system prompt, messages.
  const what = at === 0 ? "the tools" : at === 1 ? "the system prompt" : `message ${at - 1}`;
  return { at, what: `${what} ${at < later.length ? "changed" : "is gone"}` };
}
