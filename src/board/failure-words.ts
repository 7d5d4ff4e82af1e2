/** What is the same in messages of one cause: not ids, numbers and times. */
export function failureWords(error: string): string {
  return error
    .toLowerCase()
    .replace(/[0-9a-f]*\d[0-9a-f]*/g, "#")
    .replace(/\s+/g, " ")
    .trim();
}
