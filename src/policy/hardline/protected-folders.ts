import { UNKNOWN_HOME } from "../shell-reader/scope.ts";

/** The kinds of folders that must never be removed as a whole. */
export type ProtectedFolder = "root" | "system" | "home";

// On many systems `/bin`, `/sbin` and `/lib*` are links into `/usr`, so both spellings are listed.
const SYSTEM = [
  ..."home root etc usr var bin sbin boot lib lib32 lib64 libx32 dev proc sys"
    .split(" ")
    .map((name) => [name]),
  ..."bin sbin lib lib32 lib64 libx32".split(" ").map((name) => ["usr", name]),
  ..."System Library Users Applications Volumes private".split(" ").map((name) => [name]),
  ["private", "etc"],
  ["private", "var"],
];
// A last component that matches everything in the folder: `*`, `.*`, `.[!.]*`, `??*`.
const EVERYTHING = /^(?:[*?.]|\[[!^][^\]/]*\])+$/;

/** Matches a path that needs resolving: one with `.`, `..` or an empty component. */
const UNRESOLVED = /\/\.{0,2}(?:\/|$)/;

/** The absolute path without `.`, `..` and doubled slashes; undefined for a relative path in an unknown folder. */
export function resolvePath(path: string, cwd: string | undefined): string | undefined {
  if (!path.startsWith("/") && cwd === undefined) return undefined;
  const joined = path.startsWith("/") ? path : `${cwd}/${path}`;
  if (joined.startsWith("/") && !UNRESOLVED.test(joined)) return joined;
  const parts: string[] = [];
  for (const part of joined.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** The kind of protected folder that is at or below the path, or whose whole content the path matches. */
export function findProtectedFolder(
  path: string,
  where: { readonly cwd: string | undefined; readonly home: string | undefined },
): ProtectedFolder | undefined {
  const absolute = resolvePath(path, where.cwd);
  if (absolute === undefined) return undefined;
  const parts = absolute.split("/").filter((part) => part !== "");
  while (EVERYTHING.test(parts.at(-1) ?? "")) parts.pop();
  if (parts.length === 0) return "root";
  const home = (resolvePath(where.home ?? UNKNOWN_HOME, undefined) ?? "")
    .split("/")
    .filter((part) => part !== "");
  if (parts.length === home.length && matches(parts, home)) return "home";
  if (SYSTEM.some((folder) => folder.length === parts.length && matches(parts, folder))) return "system";
  return parts.length < home.length && matches(parts, home) ? "home" : undefined;
}

/** Whether each part, which may be a glob pattern, matches the name at the same index. */
function matches(parts: readonly string[], names: readonly string[]): boolean {
  return parts.every((part, index) => matchesName(part, names[index] ?? ""));
}

export function isPattern(name: string): boolean {
  return /[*?[]/.test(name);
}

/** Whether a name, or a short glob pattern, matches a name. */
export function matchesName(pattern: string, name: string): boolean {
  if (pattern === name) return true;
  // The protected names are short, so a long pattern does not disguise one of them.
  if (!isPattern(pattern) || pattern.length > 40 || name.length > 100 || differsAtEnd(pattern, name))
    return false;
  let states = new Set([0]);
  const tokens = pattern.match(/\[[^\]]+\]|[\s\S]/g) ?? [];
  const skipStars = (from: Iterable<number>) => {
    const all = new Set(from);
    for (const state of all) if (tokens[state] === "*") all.add(state + 1);
    return all;
  };
  states = skipStars(states);
  for (const character of name) {
    const next = new Set<number>();
    for (const state of states) {
      const token = tokens[state];
      if (token === "*") next.add(state);
      else if (token !== undefined && matchesToken(token, character)) next.add(state + 1);
    }
    states = skipStars(next);
  }
  return states.has(tokens.length);
}

/** Whether the first or last character of a pattern rules out a name, as in most cases. */
function differsAtEnd(pattern: string, name: string): boolean {
  const isLiteral = (character: string | undefined): boolean => /^[\w.-]$/.test(character ?? "");
  return (
    (isLiteral(pattern[0]) && pattern[0] !== name[0]) ||
    (isLiteral(pattern.at(-1)) && pattern.at(-1) !== name.at(-1))
  );
}

function matchesToken(token: string, character: string): boolean {
  if (token === "?" || token === character) return true;
  if (!token.startsWith("[") || token.length < 3) return false;
  const negated = token[1] === "!" || token[1] === "^";
  const ranges = token.slice(negated ? 2 : 1, -1).match(/[\s\S]-[\s\S]|[\s\S]/g) ?? [];
  const within = ranges.some((range) =>
    range.length === 3 ? (range[0] ?? "") <= character && character <= (range[2] ?? "") : range === character,
  );
  return within !== negated;
}
