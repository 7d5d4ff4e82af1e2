/** Adds a missing full stop to a message of a server, so that another sentence can follow. */
export function endSentence(text: string): string {
  return /[.!?…]["')\]]?$/.test(text.trimEnd()) ? text.trimEnd() : `${text.trimEnd()}.`;
}
