import { quoteWord } from "../../channel/quote.ts";

const MAX_ALTERNATIVES = 64;

/** A `find` expression that matches the same files as `rg --glob`. */
export function findExpression(glob: string, ignoreCase: boolean): string {
  const tests = expandGlob(glob).map((one) => findTest(one, ignoreCase));
  return `\\( ${tests.join(" -o ")} \\)`;
}

/** Escapes a leading `!`, which `rg --glob` would read as a negation. */
export function ripgrepGlob(glob: string): string {
  return glob.startsWith("!") ? `\\${glob}` : glob;
}

function findTest(glob: string, ignoreCase: boolean): string {
  const [byName, byPath] = ignoreCase ? ["-iname", "-ipath"] : ["-name", "-path"];
  const anchored = glob.replace(/^\.?\/+/, "");
  if (anchored === glob && !glob.includes("/")) return `${byName} ${quoteWord(glob.replace(/\*{2,}/g, "*"))}`;
  const pattern = `./${anchored.replace(/\*{2,}/g, "*")}`;
  const test = `${byPath} ${quoteWord(pattern)}`;
  if (anchored.includes("**")) return test;
  // A star of find also matches slashes: without `**`, a path must have as many components as its pattern.
  const deeper = `./${"*/".repeat(anchored.split("/").length)}*`;
  return `\\( ${test} ! -path ${quoteWord(deeper)} \\)`;
}

/** Expands braces, and each `**` between slashes to zero or more folders. */
function expandGlob(glob: string): string[] {
  let found = [glob];
  const split = (pattern: RegExp, parts: (match: RegExpExecArray) => readonly string[]): void => {
    for (;;) {
      const next = found.flatMap((text) => {
        const match = pattern.exec(text);
        if (match === null) return [text];
        const [before, after] = [text.slice(0, match.index), text.slice(match.index + match[0].length)];
        return parts(match).map((part) => before + part + after);
      });
      if (next.length === found.length && next.every((text, index) => text === found[index])) return;
      if (next.length > MAX_ALTERNATIVES) return;
      found = next;
    }
  };
  split(/\{([^{}]*)\}/, (match) => (match[1] ?? "").split(","));
  split(/^\*\*\//, () => ["", "\u0000/"]);
  split(/\/\*\*\//, () => ["/", "/\u0000/"]);
  return [...new Set(found.map((text) => text.replaceAll("\u0000", "**")))];
}
