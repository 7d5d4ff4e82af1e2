/** What is known of a command besides its output; what is undefined is left out. */
type Facts = Readonly<Record<string, string | number | undefined>>;

/**
 * The result of a command as the model reads it: `name: value` lines, an empty line and the output as it is. JSON would
 * escape every line end and quote of the output, which costs tokens and makes it harder to read.
 */
export function terminalText(facts: Facts, output: string): string {
  const lines = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${String(value).replace(/\s*\n\s*/g, " ")}`],
  );
  return output === "" ? lines.join("\n") : `${lines.join("\n")}\n\n${output}`;
}
