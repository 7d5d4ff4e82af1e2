/** The path of the bundled `rg`, for the local environment; undefined if there is none for this platform. */
export async function findBundledRipgrep(): Promise<string | undefined> {
  try {
    return (await import("@vscode/ripgrep")).rgPath;
  } catch {
    return undefined; // the package for this platform is not installed; find and grep are used instead
  }
}
