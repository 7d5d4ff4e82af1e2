/** The words of the command that `xargs` starts for known input. `command` is `args` without the options of `xargs`. */
export function expandXargs(
  command: readonly string[],
  args: readonly string[],
  input: readonly string[],
): readonly string[] {
  const option = args.findIndex((word) => /^-[Ii]|^--replace/.test(word));
  const takesLines = option >= 0 || args.some((word) => /^-[0dL]|^--(?:null|delimiter|max-lines)/.test(word));
  const items = input
    .flatMap((text) =>
      takesLines ? text.split(/[\n\0]+/) : (text.match(/"[^"\n]*"|'[^'\n]*'|[^\s\0"']+/g) ?? []),
    )
    .map((item) => (takesLines ? item.trim() : item.replace(/^(["'])(.*)\1$/s, "$2")))
    .filter((item) => item !== "");
  if (option < 0) return [...command, ...items];
  const word = args[option] ?? "";
  const mark = word === "-I" ? args[option + 1] : word.replace(/^-[Ii]|^--replace=?/, "") || "{}";
  if (!mark || items.length === 0) return command;
  // After `-c`, and inside a longer word, the items become lines of a text for a shell.
  return command.flatMap((part, at) =>
    part === mark && !/^-\w*c$/.test(command[at - 1] ?? "")
      ? items
      : [part.includes(mark) ? part.split(mark).join(items.join("\n")) : part],
  );
}
