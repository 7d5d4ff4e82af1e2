import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { AppError, messageOf } from "../../lib/errors.ts";
import { readTextFile } from "../../lib/files/files.ts";
import type { Rule } from "./rule.ts";
import { parseRuleFile, parseRules, type RuleLists } from "./rule-file.ts";
import { findProjectRules, type TrustedRules } from "./trusted-rules.ts";

export interface RuleSourceParts {
  /** Rules of the machine's administrator, which only the administrator can change. */
  readonly managedPath: string;
  /** The settings file with the user's rules. */
  readonly configPath: string;
  /** Reads the user's rules from the settings. */
  loadUserRules(): Promise<RuleLists>;
  readonly trusted: TrustedRules;
  /** The folder whose project rules apply; undefined where commands run on another machine. */
  readonly projectFolder: string | undefined;
  readonly knownTools: ReadonlySet<string>;
  report(text: string): void;
}

/** The rules of all layers. A changed file is read again; if it is invalid, it is reported and the old rules stay in force. */
export interface RuleSource {
  /** With the rules of the project in which the session started, and of the one that contains `cwd`. */
  rules(cwd?: string): Promise<readonly Rule[]>;
}

/** Throws `rules-invalid` if a file is invalid at the start: nothing may run without its deny rules. */
export async function openRuleSource(parts: RuleSourceParts): Promise<RuleSource> {
  const { managedPath, configPath, knownTools, projectFolder } = parts;
  const reported = new Set<string>();
  let searched: string | undefined;
  let projects = projectPaths(projectFolder);
  let stamps = stampsOf([managedPath, configPath, ...projects]);
  let rules = await load();

  function projectPaths(cwd: string | undefined): readonly string[] {
    if (projectFolder === undefined) return [];
    const folders = new Set([projectFolder, cwd ?? projectFolder]);
    const found = [...folders].map((folder) => findProjectRules(folder, parts.trusted));
    return [...new Set(found)].filter((path) => path !== undefined);
  }

  async function load(): Promise<readonly Rule[]> {
    const managed = await readTextFile(managedPath);
    const user = await parts.loadUserRules();
    return [
      ...(managed === undefined ? [] : parseRuleFile(managed, managedPath, "managed", knownTools)),
      ...parseRules(
        user,
        "user",
        knownTools,
        (problem) => new AppError("rules-invalid", `In ${configPath}, ${problem}.`),
      ),
      ...(await Promise.all(projects.map(loadProject))).flat(),
    ];
  }

  async function loadProject(path: string): Promise<readonly Rule[]> {
    const [text, trusted] = await Promise.all([readTextFile(path), parts.trusted.load(path)]);
    if (text === undefined && trusted !== undefined)
      reportOnce(`${path} was removed; the deny and ask rules that you trusted still count.`);
    else if (text !== trusted)
      reportOnce(
        `${path} ${trusted === undefined ? "is not trusted and has no effect" : "has changed; the version that you trusted counts"}. ` +
          "Read it, then run `hermes approvals trust`.",
      );
    const base = dirname(dirname(path));
    return trusted === undefined
      ? []
      : parseRuleFile(trusted, path, "project", knownTools)
          .filter(({ effect }) => text !== undefined || effect !== "allow")
          .map((rule) => ({ ...rule, base }));
  }

  /** Reports each notice once, because the shell may enter and leave a project often. */
  function reportOnce(notice: string): void {
    if (reported.has(notice)) return;
    reported.add(notice);
    parts.report(notice);
  }

  return {
    async rules(cwd) {
      // Without trusted rules a project's file has no effect, so each folder is searched only once.
      const current = cwd === searched && !parts.trusted.hasAny() ? projects : projectPaths(cwd);
      searched = cwd;
      const now = stampsOf([managedPath, configPath, ...current]);
      if (areEqual(now, stamps)) return rules;
      stamps = now;
      projects = current;
      try {
        rules = await load();
      } catch (error) {
        parts.report(`${messageOf(error)} The rules from before the change stay in force.`);
      }
      return rules;
    },
  };
}

/** The state of a file, which differs whenever the file has changed; undefined if there is no file. */
interface FileStamp {
  readonly path: string;
  readonly stats: Pick<Stats, "mtimeMs" | "size" | "ino"> | undefined;
}

function stampsOf(paths: readonly string[]): readonly FileStamp[] {
  return paths.map((path) => ({ path, stats: statSync(path, { throwIfNoEntry: false }) }));
}

/** Compares numbers rather than texts made of them, because this happens with every decision. */
function areEqual(one: readonly FileStamp[], other: readonly FileStamp[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ path, stats }, at) => {
      const before = other[at];
      return (
        path === before?.path &&
        stats?.mtimeMs === before.stats?.mtimeMs &&
        stats?.size === before.stats?.size &&
        stats?.ino === before.stats?.ino
      );
    })
  );
}
