/** Removes the code of a link from the address at once, so that it stays out of the history. */
export function takeLinkCode(): string | undefined {
  const code = location.hash.slice(1);
  if (!/\/enter$/.test(location.pathname) || code === "") return undefined;
  history.replaceState(history.state, "", new URL(".", document.baseURI).pathname);
  return code;
}
