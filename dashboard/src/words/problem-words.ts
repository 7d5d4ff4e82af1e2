import { words } from "./words.ts";

/** The message for anything that was thrown. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const known = "code" in error ? words.problems.known[String(error.code)] : undefined;
  if (known !== undefined) return known;
  return "hint" in error && typeof error.hint === "string" ? `${error.message} ${error.hint}` : error.message;
}
