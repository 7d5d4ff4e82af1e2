/** The `rg` that comes with us, for commands on our own machine; undefined where it has none for this kind of machine. */
export async function findBundledRipgrep(): Promise<string | undefined> {
  try {
    return (await import("@vscode/ripgrep")).rgPath;
  } catch {
    return undefined; // its import fails where the package for this platform is not installed; find and grep do as well
  }
}
