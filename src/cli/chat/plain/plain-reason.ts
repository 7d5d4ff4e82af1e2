/** The flag or variable that turns the screen reader mode on; undefined if only the settings can do so. */
export function findPlainReason(
  flag: boolean | undefined,
  variables: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (flag === true) return "--screen-reader";
  const accessible = variables["ACCESSIBLE"];
  if (accessible !== undefined && !["", "0", "false"].includes(accessible.toLowerCase())) return "ACCESSIBLE";
  return variables["TERM"] === "dumb" ? "TERM=dumb" : undefined;
}
