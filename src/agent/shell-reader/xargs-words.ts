/** The words that `xargs`, called with `args`, starts when its input is known; `command` are those it was given. */
export function xargsWords(
  command: readonly string[],
  args: readonly string[],
  input: readonly string[],
): readonly string[] {
  const items = input.flatMap((text) => text.split(/[\s\0]+/)).filter((item) => item !== "");
  const option = args.findIndex((word) => /^-[Ii]|^--replace/.test(word));
  if (option < 0) return [...command, ...items];
  const word = args[option] ?? "";
  const mark = word === "-I" ? args[option + 1] : word.replace(/^-[Ii]|^--replace=?/, "") || "{}";
  return command.flatMap((part) => (mark && part === mark && items.length > 0 ? items : [part]));
}
