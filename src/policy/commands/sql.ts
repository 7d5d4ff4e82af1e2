/** What SQL text destroys, as the end of a sentence; undefined if nothing. */
export function findSqlLoss(text: string): string | undefined {
  for (const statement of statementsOf(text)) {
    const words = statement
      .toLowerCase()
      .split(/\s+/, 400)
      .filter((word) => word !== "");
    const [first = "", second = ""] = words;
    if (first === "drop" && second !== "") return `drops a ${second.replace(/\W/g, "") || "table"}`;
    if (first === "truncate") return "empties a table";
    const deletion = words.findIndex(
      (word, at) => word.replace(/^\(/, "") === "delete" && words[at + 1] === "from",
    );
    const isStatement = first === "delete" || first === "with";
    if (
      isStatement &&
      deletion >= 0 &&
      !words.some((word, at) => at > deletion && /^where\b/.test(word) && !isAlwaysTrue(words.slice(at + 1)))
    )
      return "deletes all rows of a table";
  }
  return undefined;
}

/** Whether a condition such as `1=1`, `1` or `true` holds for every row. */
function isAlwaysTrue(condition: readonly string[]): boolean {
  return /^\(*(?:true|1|(\d+|'')=\1)\)*$/.test(condition.join(""));
}

/** The statements of an SQL text, without comments and without the content of quotes. */
function statementsOf(text: string): readonly string[] {
  const statements: string[] = [];
  let statement = "";
  let isStart = true;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? "";
    const pair = character + (text[at + 1] ?? "");
    if (character === "'" || character === '"') {
      const end = text.indexOf(character, at + 1);
      statement += "''";
      isStart = false;
      at = end < 0 ? text.length : end;
    } else if (pair === "--") at = endOf(text, "\n", at);
    else if (pair === "/*") {
      at = endOf(text, "*/", at) + 1;
      statement += " ";
    } else if (character === ";") {
      statements.push(statement);
      statement = "";
      isStart = true;
    } else if ((character === "\\" || character === ".") && isStart) {
      // Skips a line for the client itself, such as `\timing on` or `.schema`.
      at = endOf(text, "\n", at);
    } else {
      statement += character;
      isStart &&= /\s/.test(character);
    }
  }
  statements.push(statement);
  return statements;
}

function endOf(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from);
  return end < 0 ? text.length : end;
}
