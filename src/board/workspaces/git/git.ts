import { setTimeout as sleep } from "node:timers/promises";
import { runProcess } from "../../../lib/process/process.ts";
import { searchPathOutside } from "../../../lib/process/search-path.ts";
import { workspaceRefused } from "../workspace.ts";

const TIMEOUT_MS = 10 * 60_000;

export interface GitAnswer {
  readonly ok: boolean;
  readonly stdout: string;
  /** Git's error message. */
  readonly reason: string;
}

/** Runs git in one folder. */
export interface Git {
  /** Resolves for every exit code. */
  try(...args: readonly string[]): Promise<GitAnswer>;
  /** Resolves with the output; throws `workspace-refused` with git's reason. */
  run(...args: readonly string[]): Promise<string>;
}

/** Disables hooks and monitors: a worker can write to the repository, and its code must not run with our rights. */
const SETTINGS = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

export function createGit(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Git {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("GIT_")));
  const start = async (...args: readonly string[]) => {
    const PATH = await searchPathOutside(folder, env["PATH"]);
    const options = {
      cwd: folder,
      env: { ...kept, PATH, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" },
      timeoutMs: TIMEOUT_MS,
    };
    return await runProcess(["git", ...SETTINGS, ...args], options, signal);
  };
  let filters: Promise<readonly string[]> | undefined;
  const attempt = async (...args: readonly string[]): Promise<GitAnswer> => {
    filters ??= start(...LIST_FILTERS).then(({ stdout }) => disableRepositoryFilters(stdout));
    const result = await start(...(await filters), ...args);
    const reason = result.timedOut ? "it timed out" : result.stderr.trim();
    return { ok: result.exitCode === 0, stdout: result.stdout, reason };
  };
  return {
    try: attempt,
    async run(...args) {
      const { ok, stdout, reason } = await attempt(...args);
      if (!ok) throw workspaceRefused(`git ${args.slice(0, 2).join(" ")} failed in ${folder}: ${reason}`);
      return stdout;
    },
  };
}

const LIST_FILTERS = ["config", "--includes", "--show-scope", "-z", "--get-regexp", "^filter[.]"] as const;

/**
 * The settings that override the filters which the repository defines. A filter is a program that git runs on files; without
 * its program, git copies the files unchanged. Filters of the user, such as those of git-lfs, stay in force.
 */
function disableRepositoryFilters(list: string): readonly string[] {
  const fields = list.split("\0");
  const persons = new Map<string, string>();
  const own = new Set<string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name = "", value = "true"] = (fields[at + 1] ?? "").split(/\n(.*)/s);
    if (fields[at] === "local" || fields[at] === "worktree") own.add(name);
    else persons.set(name, value);
  }
  return [...own].flatMap((name) => {
    // In `-c NAME=VALUE`, git would end the name at its first equals sign.
    if (name.includes("="))
      throw workspaceRefused(`the repository defines a filter with a strange name: ${name}`);
    return ["-c", `${name}=${persons.get(name) ?? (name.endsWith(".required") ? "false" : "")}`];
  });
}

const LIST = ["worktree", "list", "--porcelain", "-z"] as const;
const LIST_RETRIES = 20;
const LIST_PAUSE_MS = 50;
const INCOMPLETE = /failed to read \S*commondir/;

export interface Worktree {
  readonly path: string;
  /** Undefined when its head is detached. */
  readonly branch: string | undefined;
}

/** All checkouts of the repository, the main one first. */
export async function listWorktrees(git: Git): Promise<readonly Worktree[]> {
  let listed = await git.try(...LIST);
  // Retry while another process is creating a worktree.
  for (let retry = 0; retry < LIST_RETRIES && INCOMPLETE.test(listed.reason); retry++) {
    await sleep(LIST_PAUSE_MS);
    listed = await git.try(...LIST);
  }
  const text = listed.ok ? listed.stdout : await git.run(...LIST); // throws with git's reason
  return text
    .split("\0\0")
    .map((block) => block.split("\0"))
    .flatMap((lines) => {
      const fieldOf = (name: string) =>
        lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
      const path = fieldOf("worktree");
      return path === undefined ? [] : [{ path, branch: fieldOf("branch")?.replace(/^refs\/heads\//, "") }];
    });
}
