import type { Scope } from "../scope.ts";
import type { Evaluation } from "../syntax.ts";

const PLAIN_NUMBER = /^-?\d*$/;
const PLAIN_NAME = /^[A-Za-z_]\w*(?:\[(?:\d+|[@*])\])?$/;
const MAX_LENGTH = 1_000;

/** Whether evaluating a text could run commands, because a value in it might not be a plain number or name. */
export function mayRunCode({ as, text }: Evaluation, scope: Scope): boolean {
  if (as === "prompt") return true;
  const plain = text.replace(/^"([^"]*)"$/, "$1");
  if (plain.length > MAX_LENGTH) return true;
  if (as === "name") {
    const variable = /^\$(\w+)$/.exec(plain)?.[1];
    const names = variable === undefined ? [plain] : (scope.valuesOf(variable) ?? [""]);
    return !names.every((name) => PLAIN_NAME.test(name));
  }
  let isPlain = true;
  const rest = plain
    .replace(/\$\{#\w+(?:\[[@*]\])?\}|\$[#?$!]|\$(?:RANDOM|SECONDS|LINENO)\b/g, "0")
    .replace(/\b(?:0[xX][0-9a-fA-F]+|\d+#\w+)\b/g, "0")
    .replace(/\$\{(\w+)\}|\$(\w+)|([A-Za-z_]\w*)/g, (_, braced, dollar, bare) => {
      const values = scope.valuesOf(braced ?? dollar ?? bare);
      isPlain &&= values?.every((value) => PLAIN_NUMBER.test(value)) ?? false;
      return "0";
    });
  return !isPlain || !/^[\s\d+\-*/%()<>=!&|^~?:,]*$/.test(rest);
}
