import { decodeAnsiC } from "./decode-ansi-c.ts";

/** What a program prints when its arguments and its input tell it all; undefined for every other program. */
export function printedText(
  name: string,
  args: readonly string[],
  input: string | undefined,
): string | undefined {
  switch (name) {
    case "echo": {
      const from = args.findIndex((word) => !/^-[neE]+$/.test(word));
      const text = from < 0 ? "" : args.slice(from).join(" ");
      const escapes = args.slice(0, Math.max(from, 0)).some((word) => word.includes("e"));
      return `${escapes ? decodeAnsiC(text) : text}\n`;
    }
    case "printf":
      return printf(args[0] === "--" ? args.slice(1) : args);
    case "cat":
    case "tee":
      return args.every((word) => word === "-" || name === "tee") ? input : undefined;
    default:
      return undefined;
  }
}

/** Close enough to find commands in: every directive takes one argument, and arguments left over make lines of their own. */
function printf([format = "", ...values]: readonly string[]): string {
  const left = [...values].reverse();
  const text = decodeAnsiC(format).replace(/%(?:%|[-+ #0-9.]*[a-zA-Z])/g, (directive) =>
    directive === "%%" ? "%" : (left.pop() ?? ""),
  );
  return [text, ...left.reverse()].join("\n");
}
