import { parse } from "unbash";

/** The output of a program, if its arguments and input determine it. */
export function evaluateOutput(
  name: string,
  args: readonly string[],
  input: string | undefined,
): string | undefined {
  switch (name) {
    case "echo": {
      const from = args.findIndex((word) => !/^-[neE]+$/.test(word));
      const text = from < 0 ? "" : args.slice(from).join(" ");
      const escapes = args.slice(0, Math.max(from, 0)).some((word) => word.includes("e"));
      return `${escapes ? decodeEscapes(text) : text}\n`;
    }
    case "printf":
      return printf(args[0] === "--" ? args.slice(1) : args);
    case "cat":
    case "tee":
      return args.every((word) => word === "-" || name === "tee") ? input : undefined;
    case "rev":
      return args.length === 0
        ? input?.replace(/[^\n]+/g, (line) => Array.from(line).reverse().join(""))
        : undefined;
    case "which":
    case "command":
    case "type":
      return locatedProgram(name, args);
    case "mktemp":
      // Only that it is a new file or folder in /tmp matters, not the random part of its name.
      return args.every((word) => /^-(?:[dqu]+|-directory|-quiet)$/.test(word))
        ? "/tmp/tmp.new\n"
        : undefined;
    default:
      return undefined;
  }
}

/** The output of `which X`, `command -v X` or `type -P X`: a path of X, for which the name X stands in. */
function locatedProgram(name: string, args: readonly string[]): string | undefined {
  const searches = name === "which" || /^-[vpP]+$/.test(args[0] ?? "");
  const programs = args.filter((word) => !word.startsWith("-"));
  return searches && programs.length > 0 ? `${programs.join("\n")}\n` : undefined;
}

/** Approximates `printf` well enough to find commands. Each directive takes one argument; the other arguments become lines. */
function printf([format = "", ...values]: readonly string[]): string {
  const left = [...values].reverse();
  const text = decodeEscapes(format).replace(/%(?:%|[-+ #0-9.]*[a-zA-Z])/g, (directive) =>
    directive === "%%" ? "%" : (left.pop() ?? ""),
  );
  return [text, ...left.reverse()].join("\n");
}

/** Decodes escapes as `$'…'` does, which is close enough to `echo -e` and `printf`. */
function decodeEscapes(text: string): string {
  const quoted = text.replace(/\\[\s\S]?|'/g, (mark) => (mark === "'" || mark === "\\" ? `\\${mark}` : mark));
  const command = parse(`$'${quoted}'`).commands[0]?.command;
  return command?.type === "Command" ? (command.name?.value ?? "") : "";
}
