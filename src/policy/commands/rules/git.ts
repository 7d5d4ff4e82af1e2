import { hasOption, operandsOf, subcommandOf } from "../arguments.ts";
import type { Match } from "../command-classes.ts";
import type { ClassRule } from "./class-rule.ts";

/** Options of git itself that take the next argument as their value. */
export const GIT_OPTIONS = /^(?:-[Cc]|--(?:git-dir|work-tree|namespace|exec-path|super-prefix|config-env))$/;

/** Git commands that lose work or rewrite history. */
export const checkGit: ClassRule = ({ name, args, cwd }) => {
  if (name !== "git") return undefined;
  const { verb, rest } = subcommandOf(args, GIT_OPTIONS);
  if (hasOption(rest, /^(?:-h|--help)$/)) return undefined;
  const work = checkWork(verb, rest);
  // Options of git itself, such as `-C`, may name another repository.
  if (work !== undefined && args[0] === verb && cwd !== undefined && !ALWAYS_LOST.test(verb))
    return hasOption(rest, /^-[a-zA-Z]*[xX]/)
      ? work
      : { ...work, harmlessIf: { state: "clean-tree", paths: [cwd] } };
  return work ?? checkHistory(verb, rest) ?? checkPush(verb, rest);
};

/** Verbs that lose work even if nothing is uncommitted in this folder. */
const ALWAYS_LOST = /^(?:stash|worktree|submodule)$/;

function checkWork(verb: string, rest: readonly string[]): Match | undefined {
  switch (verb) {
    case "reset":
      return hasOption(rest, /^--(?:hard|merge|keep)$/)
        ? loses("discards all uncommitted changes")
        : undefined;
    case "clean":
      return hasOption(rest, /^-[a-zA-Z]*f|^--force$/) && !hasOption(rest, /^-[a-zA-Z]*n|^--dry-run$/)
        ? loses("removes all untracked files")
        : undefined;
    case "checkout":
    case "switch":
      if (hasOption(rest, /^-[a-zA-Z]*f$|^--(?:force|discard-changes)$/))
        return loses("discards uncommitted changes");
      return verb === "checkout" && discardsFiles(rest)
        ? loses("discards the uncommitted changes of files")
        : undefined;
    case "restore":
      return !hasOption(rest, /^(?:-[a-zA-Z]*S[a-zA-Z]*|--staged)$/) ||
        hasOption(rest, /^(?:-[a-zA-Z]*W[a-zA-Z]*|--worktree)$/)
        ? loses("discards the uncommitted changes of files")
        : undefined;
    case "checkout-index":
      return hasOption(rest, /^-[a-zA-Z]*f|^--force$/)
        ? loses("overwrites files with their last staged state")
        : undefined;
    case "read-tree":
      return hasOption(rest, /^(?:-u|--reset)$/) ? loses("discards uncommitted changes") : undefined;
    case "stash":
      return /^(?:drop|clear)$/.test(rest[0] ?? "") ? loses("removes stashed changes") : undefined;
    case "rm":
      return hasOption(rest, /^-[a-zA-Z]*f|^--force$/) && !hasOption(rest, /^--(?:cached|dry-run)$|^-n$/)
        ? loses("removes files with their uncommitted changes")
        : undefined;
    case "worktree":
      return rest[0] === "remove" && hasOption(rest, /^(?:-f+|--force)$/)
        ? loses("removes a worktree with its uncommitted changes")
        : undefined;
    case "submodule":
      return rest[0] === "deinit" && hasOption(rest, /^(?:-f|--force)$/)
        ? loses("removes submodules with their uncommitted changes")
        : undefined;
    default:
      return undefined;
  }
}

/** Whether `git checkout` restores files: after `--`, with an option for files, or if an operand can only be a path. */
function discardsFiles(rest: readonly string[]): boolean {
  if (hasOption(rest, /^-(?:b|B|-orphan|-track|t|-detach)$/)) return false;
  const separator = rest.indexOf("--");
  if (separator >= 0) return separator < rest.length - 1;
  if (hasOption(rest, /^--(?:ours|theirs|merge|conflict=.*)$/)) return true;
  return operandsOf(rest).some((word) => /^(?:\.{1,2}|\*|:\/|\.{1,2}\/.*)$|\/$/.test(word));
}

function checkHistory(verb: string, rest: readonly string[]): Match | undefined {
  const forgets = (effect: string): Match => ({ class: "git-history-loss", effect });
  switch (verb) {
    case "branch":
      return hasOption(rest, /^-[a-zA-Z]*D/) ||
        (hasOption(rest, /^(?:-[a-zA-Z]*d|--delete)$/) && hasOption(rest, /^(?:-[a-zA-Z]*f|--force)$/))
        ? forgets("removes branches, even if their commits exist nowhere else")
        : undefined;
    case "reflog":
      return /^(?:expire|delete)$/.test(rest[0] ?? "")
        ? forgets("removes the log that can restore lost commits")
        : undefined;
    case "gc":
      return hasOption(rest, /^--prune=(?!never)/)
        ? forgets("removes commits that no branch contains")
        : undefined;
    case "prune":
      return hasOption(rest, /^(?:-n|--dry-run)$/)
        ? undefined
        : forgets("removes commits that no branch contains");
    case "filter-branch":
    case "filter-repo":
      return forgets("rewrites the whole history");
    case "update-ref":
      return hasOption(rest, /^(?:-d|--delete)$/) ? forgets("removes a branch or tag") : undefined;
    default:
      return undefined;
  }
}

function checkPush(verb: string, rest: readonly string[]): Match | undefined {
  if (verb !== "push" || hasOption(rest, /^(?:-n|--dry-run)$/)) return undefined;
  const isForced =
    hasOption(
      rest,
      /^(?:-[a-zA-Z]*[fd][a-zA-Z]*|--force(?:-with-lease|-if-includes)?(?:=.*)?|--mirror|--delete|--prune)$/,
    ) || operandsOf(rest, /^(?:-o|--push-option|--repo|--receive-pack)$/).some((word) => /^[+:]/.test(word));
  return isForced
    ? { class: "git-force-push", effect: "overwrites or removes branches of the remote repository" }
    : undefined;
}

function loses(effect: string): Match {
  return { class: "git-work-loss", effect };
}
