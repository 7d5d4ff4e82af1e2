/** Takes the code out of the address at once, so that it stays in no history. */
export function takeLinkCode(): string | undefined {
  const code = location.hash.slice(1);
  if (!/\/enter$/.test(location.pathname) || code === "") return undefined;
  history.replaceState(history.state, "", new URL(".", document.baseURI).pathname);
  return code;
}
