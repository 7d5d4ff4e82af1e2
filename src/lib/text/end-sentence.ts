/** Adds a full stop to the message of a server, which a sentence of ours follows. */
export function endSentence(text: string): string {
  return /[.!?…]["')\]]?$/.test(text.trimEnd()) ? text.trimEnd() : `${text.trimEnd()}.`;
}
