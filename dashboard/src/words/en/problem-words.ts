/** Messages for failures without a message from the server. */
export const problemWords = {
  unreachable: "The server cannot be reached.",
  lost: "The connection is lost, so this was not sent. Try again when the page is live.",
  unreadable: (status: number) => `The server sent an answer that this page cannot read (${status}).`,
  signedOut: "You are signed out.",
  notAllowed: (scope: string) => `This sign-in may not do that; it needs the scope "${scope}".`,
  readOnly: "This sign-in is read-only.",
  /** Messages that replace those of the server, by code. The server's are English already. */
  known: {} as Readonly<Record<string, string | undefined>>,
};
