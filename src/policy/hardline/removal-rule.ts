import type { Invocation } from "../shell-reader/invocation.ts";
import { parseFindArguments } from "../shell-reader/programs/parse-find-arguments.ts";
import { findProtectedFolder, type ProtectedFolder } from "./protected-folders.ts";
import type { Refusal } from "./refusal.ts";

const REMOVERS = new Set(["rm", "grm", "srm"]);
const MOVERS = new Set(["mv", "gmv"]);
const EFFECTS: Readonly<Record<ProtectedFolder, string>> = {
  root: "remove the whole file system",
  system: "remove a system folder",
  home: "remove a whole home folder",
};
const ADVICE = "Name the exact files or folders below it that are no longer needed, and remove only those.";

/** Refuses to remove or move away the root, a system folder or a home folder, or its whole content. */
export function checkRemoval(invocation: Invocation, home: string | undefined): Refusal | undefined {
  for (const target of removedBy(invocation)) {
    const folder = findProtectedFolder(target, { cwd: invocation.cwd, home });
    if (folder) return { rule: `remove-${folder}`, effect: `${EFFECTS[folder]} (${target})`, advice: ADVICE };
  }
  return undefined;
}

function removedBy({ name, args, naming }: Invocation): readonly string[] {
  if (name === "find" && naming === "text") {
    const { deletes, picks, roots } = parseFindArguments(args);
    return deletes && !picks ? roots : [];
  }
  if (naming === "text" && !REMOVERS.has(name) && !MOVERS.has(name)) return [];
  const end = args.indexOf("--");
  const options = args.filter((word, index) => word.startsWith("-") && (end < 0 || index < end));
  const operands = args.filter((word, index) => !word.startsWith("-") || (end >= 0 && index > end));
  const has = (option: RegExp) => options.some((word) => option.test(word));
  if (REMOVERS.has(name)) return has(/^-[a-zA-Z]*[rR]|^--r[a-z]*$/) ? operands : [];
  if (MOVERS.has(name)) return has(/^-[a-zA-Z]*t|^--t/) ? operands : operands.slice(0, -1);
  // Many programs have an option `-r`, but an unknown one with `-rf` is meant to be `rm`.
  const isRecursive = has(/^-[a-zA-Z]*[rR][a-zA-Z]*$|^--recursive$/);
  return isRecursive && (naming !== "environment" || has(/^-[a-zA-Z]*f[a-zA-Z]*$|^--force$/)) ? operands : [];
}
