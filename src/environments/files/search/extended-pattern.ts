const CLASSES: Readonly<Record<string, string>> = { d: "0-9", s: "[:space:]", w: "[:alnum:]_" };

/** A regular expression as `rg` reads it, in the words of `grep -E`, as far as the two can say the same. */
export function extendedPattern(pattern: string): string {
  let result = "";
  let inSet = false;
  for (let at = 0; at < pattern.length; at++) {
    const one = pattern[at] ?? "";
    const next = pattern[at + 1] ?? "";
    if (one === "\\") {
      const members = CLASSES[next.toLowerCase()];
      const negated = next !== next.toLowerCase();
      if (members !== undefined && !(inSet && negated)) {
        result += inSet ? members : `[${negated ? "^" : ""}${members}]`;
      } else if (next === "t") result += "\t";
      // A backslash is an ordinary member of a POSIX set, and what follows it is taken as it is.
      else result += inSet ? next : one + next;
      at++;
    } else if (!inSet && pattern.startsWith("(?:", at)) {
      result += "(";
      at += 2;
    } else {
      if (one === "[" && !inSet) {
        inSet = true;
        // A bracket that comes first is a member.
        const start = /^\[\^?\]?/.exec(pattern.slice(at))?.[0] ?? one;
        result += start;
        at += start.length - 1;
        continue;
      }
      if (one === "]") inSet = false;
      result += one;
    }
  }
  return result;
}
