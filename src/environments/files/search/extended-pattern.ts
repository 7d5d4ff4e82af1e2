const CLASSES: Readonly<Record<string, string>> = { d: "0-9", s: "[:space:]", w: "[:alnum:]_" };

/** Translates a regular expression of `rg` to the syntax of `grep -E`, as far as `grep -E` can express it. */
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
      // A backslash is an ordinary member of a POSIX bracket expression, so the escaped character stands alone.
      else result += inSet ? next : one + next;
      at++;
    } else if (!inSet && pattern.startsWith("(?:", at)) {
      result += "(";
      at += 2;
    } else {
      if (one === "[" && !inSet) {
        inSet = true;
        // A closing bracket in the first position is a member.
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
