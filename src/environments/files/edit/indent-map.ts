/** Re-indents a line for the file; undefined if its depth cannot be derived. */
export type Reindent = (line: string) => string | undefined;

export function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

/**
 * Derives the mapping between two indentation styles from lines that differ only in indentation: tabs and spaces, four
 * spaces and two, or a deeper level. Undefined if the lines are nested differently.
 */
export function learnIndentation(written: readonly string[], own: readonly string[]): Reindent | undefined {
  const known = new Map<string, string>();
  for (const [index, line] of written.entries()) {
    if (line.trim() === "") continue;
    const [from, to] = [indentOf(line), indentOf(own[index] ?? "")];
    if ((known.get(from) ?? to) !== to) return undefined;
    known.set(from, to);
  }
  const levels = [...known].toSorted(([one], [other]) => one.length - other.length);
  for (const [index, [from, to]] of levels.entries()) {
    const [deeperFrom, deeperTo] = levels[index + 1] ?? [];
    if (deeperFrom === undefined || deeperTo === undefined) break;
    if (!deeperFrom.startsWith(from) || !deeperTo.startsWith(to) || deeperTo === to) return undefined;
  }
  if (!known.has("")) levels.unshift(["", ""]); // unindented lines stay unindented, unless they are mapped
  return (line) => {
    const indent = indentOf(line);
    if (line.trim() === "") return line;
    const body = line.slice(indent.length);
    const exact = known.get(indent);
    if (exact !== undefined) return exact + body;
    const base = levels.findLast(([from]) => indent.startsWith(from));
    if (base === undefined) return undefined;
    const rest = deepen(indent.slice(base[0].length), levels);
    return rest === undefined ? undefined : base[1] + rest + body;
  };
}

/** Translates further indentation steps by the first known step that divides them. */
function deepen(rest: string, levels: readonly (readonly [string, string])[]): string | undefined {
  for (const [index, [from, to]] of levels.entries()) {
    const [deeperFrom = "", deeperTo = ""] = levels[index + 1] ?? [];
    const [step, ownStep] = [deeperFrom.slice(from.length), deeperTo.slice(to.length)];
    if (step === "" || ownStep === "" || rest.length % step.length !== 0) continue;
    const steps = rest.length / step.length;
    if (step.repeat(steps) === rest) return ownStep.repeat(steps);
  }
  return undefined;
}
