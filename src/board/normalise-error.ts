/** Normalises an error message: removes ids, numbers and times, so that messages with the same cause compare equal. */
export function normaliseError(error: string): string {
  return error
    .toLowerCase()
    .replace(/[0-9a-f]*\d[0-9a-f]*/g, "#")
    .replace(/\s+/g, " ")
    .trim();
}
