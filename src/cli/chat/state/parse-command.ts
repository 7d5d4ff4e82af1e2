/** A slash command that was typed. A first word with a second slash, such as a path, is text. */
export function parseCommand(text: string): { readonly name: string; readonly argument: string } | undefined {
  const found = /^\/([A-Za-z?][\w-]*)(?:\s+([\s\S]*))?$/.exec(text);
  if (found === null) return text === "?" || text === "/" ? { name: "help", argument: "" } : undefined;
  return { name: (found[1] ?? "").toLowerCase(), argument: (found[2] ?? "").trim() };
}
