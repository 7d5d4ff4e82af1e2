/** A row of a diff with its line number: in the old file for a removed line, otherwise in the new file. */
export interface NumberedRow {
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

export function isDiff(text: string): boolean {
  return /^(?:--- |@@ |diff )/m.test(text);
}

/** A unified diff with line numbers in place of its headers. A diff of several files names each of them. */
export function numberDiff(diff: string): NumberedRow[] {
  const rows: NumberedRow[] = [];
  const lines = diff.split("\n");
  const isOfSeveral = lines.filter((line) => line.startsWith("+++ ")).length > 1;
  let oldLine = 0;
  let newLine = 0;
  let left = { old: 0, new: 0 }; // lines of the hunk that are still to come
  for (const line of lines) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk !== null) {
      if (newLine > 0) rows.push({ sign: " ", text: "      …" });
      oldLine = Number(hunk[1]);
      newLine = Number(hunk[3]);
      left = { old: Number(hunk[2] ?? 1), new: Number(hunk[4] ?? 1) };
      continue;
    }
    const sign = line[0] === "+" || line[0] === "-" ? line[0] : " ";
    if (left.old <= 0 && left.new <= 0) {
      const name = /^\+\+\+ (?:b\/)?(.*)/.exec(line)?.[1];
      if (isOfSeveral && name !== undefined) rows.push({ sign: " ", text: `    ${name}` });
      if (line.startsWith("diff ") || line.startsWith("--- ")) newLine = 0;
      continue;
    }
    if (line.startsWith("\\")) continue; // no newline at the end of the file
    const number = sign === "-" ? oldLine : newLine;
    rows.push({ sign, text: `${`${number}`.padStart(5)} ${sign}${line.slice(1)}` });
    if (sign !== "+") {
      oldLine++;
      left.old--;
    }
    if (sign !== "-") {
      newLine++;
      left.new--;
    }
  }
  return rows;
}
