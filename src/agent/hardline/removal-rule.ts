import { readFind } from "../shell-reader/find-expression.ts";
import type { Invocation } from "../shell-reader/invocation.ts";
import { type ProtectedPlace, protectedPlace } from "./protected-paths.ts";
import type { Refusal } from "./refusal.ts";

const REMOVERS = new Set(["rm", "grm", "srm"]);
const EFFECTS: Readonly<Record<ProtectedPlace, string>> = {
  root: "remove the whole file system",
  system: "remove a folder that the system lives in",
  home: "remove a whole home folder",
};
const ADVICE = "Name the exact files or folders below it that have to go, and remove only those.";

/** Recursive removal of the root, of system folders and of a home, or of all that is in them. */
export function judgeRemoval(invocation: Invocation, home: string | undefined): Refusal | undefined {
  for (const target of removedBy(invocation)) {
    const place = protectedPlace(target, { cwd: invocation.cwd, home });
    if (place) return { rule: `remove-${place}`, effect: `${EFFECTS[place]} (${target})`, advice: ADVICE };
  }
  return undefined;
}

function removedBy({ name, args }: Invocation): readonly string[] {
  if (REMOVERS.has(name)) {
    const end = args.indexOf("--");
    const options = args.filter((word, index) => word.startsWith("-") && (end < 0 || index < end));
    if (!options.some((word) => /^-[a-zA-Z]*[rR]|^--r[a-z]*$/.test(word))) return [];
    return args.filter((word, index) => !word.startsWith("-") || (end >= 0 && index > end));
  }
  if (name !== "find") return [];
  const { deletes, picks, roots } = readFind(args);
  return deletes && !picks ? roots : [];
}
