/** The variable of a setting: TERMINAL_X for `terminal.x`, HERMES_<PATH> for other keys. */
export function variableOf(path: readonly string[]): string {
  return (path[0] === "terminal" ? path : ["hermes", ...path]).join("_").toUpperCase();
}
