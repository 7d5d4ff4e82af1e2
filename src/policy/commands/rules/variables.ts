import { UNKNOWN } from "../../shell-reader/scope.ts";
import type { CommandFacts, Match } from "../command-classes.ts";
import { locate, pathBelow } from "../sensitive-paths.ts";

/** Variables that name code which programs load or run when they start. */
const LOADING_VARIABLES =
  /^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|ENV|PROMPT_COMMAND|PYTHONSTARTUP|PYTHONHOME|PERL5OPT|PERL5DB|GCONV_PATH|GIT_EXEC_PATH|GIT_TEMPLATE_DIR)$/;
/** Variables with options for an interpreter. The patterns match options that load code. */
const OPTION_VARIABLES: Readonly<Record<string, RegExp>> = {
  NODE_OPTIONS: /(?:^|\s)(?:-r|--(?:require|import|loader|experimental-loader))(?:[\s=]|$)/,
  RUBYOPT: /(?:^|\s)-[rI]/,
  JAVA_TOOL_OPTIONS: /-(?:javaagent|agentpath|agentlib|Xbootclasspath)/,
  _JAVA_OPTIONS: /-(?:javaagent|agentpath|agentlib|Xbootclasspath)/,
};
/** Variables with folders in which programs or libraries are searched. */
const SEARCH_VARIABLES = /^(?:PATH|LD_LIBRARY_PATH|DYLD_(?:FALLBACK_)?LIBRARY_PATH)$/;
/** Folders of the system, in which only an administrator can write. */
const SYSTEM_FOLDERS = /^\/(?:usr|bin|sbin|lib|lib64|opt|nix|snap|System|Library|home\/linuxbrew)(?:\/|$)/;

/** Variables that make programs load code which the command does not name. */
export function checkVariables(
  variables: ReadonlyMap<string, readonly string[]>,
  cwd: string | undefined,
  facts: CommandFacts,
): Match | undefined {
  for (const [name, values] of variables)
    for (const value of values) if (loadsCode(name, value, cwd, facts)) return injects(name);
  return undefined;
}

function loadsCode(name: string, value: string, cwd: string | undefined, facts: CommandFacts): boolean {
  if (value === "") return false;
  if (name === "ENV" && !value.includes("/")) return false; // usually the name of a deployment
  if (LOADING_VARIABLES.test(name))
    return !value
      .split(/[:\s]+/)
      .every((path) => SYSTEM_FOLDERS.test(path) || isPersonalFile(path, cwd, facts));
  if (Object.hasOwn(OPTION_VARIABLES, name)) return OPTION_VARIABLES[name]?.test(value) === true;
  if (!SEARCH_VARIABLES.test(name)) return false;
  // The user has put the programs into a folder of the project or the home. In /tmp they may be anybody's.
  return value.split(":").some((folder) => folder !== "" && !isOwnFolder(folder, cwd, facts));
}

/** Whether a path is in the home of the user but not in the project. The agent writes the files of the project. */
function isPersonalFile(
  path: string,
  cwd: string | undefined,
  { home, cwd: project }: CommandFacts,
): boolean {
  const absolute = locate(path, cwd);
  return (
    home !== undefined &&
    path.includes("/") &&
    pathBelow(absolute, home) !== undefined &&
    pathBelow(absolute, project) === undefined
  );
}

function isOwnFolder(folder: string, cwd: string | undefined, { home, cwd: project }: CommandFacts): boolean {
  if (folder.startsWith(UNKNOWN) || folder.startsWith("$") || SYSTEM_FOLDERS.test(folder)) return true;
  const absolute = locate(folder, cwd);
  // The top folder of a project normally contains no programs, but an agent may give a file the name of one.
  if (absolute === project) return false;
  if (pathBelow(absolute, project) !== undefined) return true;
  return home !== undefined && pathBelow(absolute, home) !== undefined;
}

function injects(name: string): Match {
  return { class: "injected-code", effect: `makes programs load code through the variable ${name}` };
}
