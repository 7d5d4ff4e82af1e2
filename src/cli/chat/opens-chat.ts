/** Flags of the chat that have no value. */
const SWITCHES: ReadonlySet<string> = new Set(["--yolo", "--plan", "--no-context"]);
const VALUE_FLAGS: ReadonlySet<string> = new Set([
  "-r",
  "--resume",
  "-m",
  "--model",
  "--provider",
  "-p",
  "--profile",
]);
/** Flags with an optional value. */
const CONTINUE_FLAGS: ReadonlySet<string> = new Set(["-c", "--continue"]);

/**
 * Whether these arguments certainly open the chat. A false negative only delays the first frame; a false positive would mix it
 * with the output of another command.
 */
export function opensChat(args: readonly string[]): boolean {
  const words = args[0] === "chat" ? args.slice(1) : [...args];
  while (words.length > 0) {
    const word = words.shift() ?? "";
    const hasValue = words[0] !== undefined && !words[0].startsWith("-");
    const takesValue = VALUE_FLAGS.has(word) && hasValue;
    if (!takesValue && !CONTINUE_FLAGS.has(word) && !SWITCHES.has(word)) return false;
    if (takesValue || (CONTINUE_FLAGS.has(word) && hasValue)) words.shift();
  }
  return true;
}
