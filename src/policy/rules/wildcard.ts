/** Whether a text matches a pattern in which `*` matches any text. Takes time linear in the text for each `*`. */
export function matchesWildcard(text: string, pattern: string): boolean {
  // Most patterns are ruled out by their first character.
  if (pattern[0] !== "*" && pattern[0] !== text[0]) return false;
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false;
  const end = text.length - last.length;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

/** Whether an absolute path matches a pattern with `*` inside names and `**` for any number of folders. */
export function matchesPath(path: string, pattern: string): boolean {
  if (differsAtEnds(path, pattern)) return false;
  const names = path.split("/");
  const parts = pattern.split("/");
  // Most patterns are ruled out by a name before the first `**` or after the last one.
  const first = parts.indexOf("**");
  const matchesAt = (name: number, part: number): boolean =>
    matchesWildcard(names[name] ?? "", parts[part] ?? "");
  if (first < 0) return names.length === parts.length && parts.every((_, at) => matchesAt(at, at));
  const tail = parts.length - 1 - parts.lastIndexOf("**");
  if (names.length < first + tail) return false;
  for (let at = 0; at < first; at += 1) if (!matchesAt(at, at)) return false;
  for (let at = 1; at <= tail; at += 1) if (!matchesAt(names.length - at, parts.length - at)) return false;
  // reached[i]: the parts so far can match the first i names.
  let reached = names.map(() => false).concat(false);
  reached[0] = true;
  for (const part of parts) {
    const next = reached.map(() => false);
    let open = false;
    for (let index = 0; index <= names.length; index += 1) {
      if (part === "**") {
        open ||= reached[index] === true;
        next[index] = open;
      } else if (index > 0 && reached[index - 1] === true)
        next[index] = matchesWildcard(names[index - 1] ?? "", part);
    }
    reached = next;
  }
  return reached[names.length] === true;
}

/** Whether the text of a pattern before its first `*` or after its last one rules out a path. */
function differsAtEnds(path: string, pattern: string): boolean {
  const first = pattern.indexOf("*");
  if (first < 0) return path !== pattern;
  // A slash next to `**` may match nothing.
  const head = pattern.slice(0, first).replace(/\/$/, "");
  const tail = pattern.slice(pattern.lastIndexOf("*") + 1).replace(/^\//, "");
  return !path.startsWith(head) || !path.endsWith(tail);
}
