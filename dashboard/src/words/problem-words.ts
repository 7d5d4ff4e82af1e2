/** What is said when something did not work and the server gave no sentence of its own. */
export const problemWords = {
  unreachable: "The server cannot be reached.",
  lost: "The connection is lost, so this was not sent. Try it again once the page is live.",
  unreadable: (status: number) => `The server gave an answer that this page does not understand (${status}).`,
  signedOut: "You are signed out.",
  notAllowed: (scope: string) => `This sign-in may not do that; it needs the right "${scope}".`,
  readOnly: "This sign-in may only read.",
};

/** The sentence for anything that was thrown. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "hint" in error && typeof error.hint === "string" ? `${error.message} ${error.hint}` : error.message;
}
