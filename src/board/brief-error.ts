/** The first line of a run's error, without the exit code in front of the worker's own message. */
export function briefError(error: string): string {
  return (error.split("\n", 1)[0] ?? "").replace(/^the worker ended with code \d+: /, "");
}
