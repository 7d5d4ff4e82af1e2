import { access } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { quoteWord } from "../channel/quote.ts";
import { createShell } from "../channel/shell.ts";
import type { Environment } from "../environment.ts";
import type { TerminalOptions } from "../options.ts";
import { commandVariables } from "./command-variables.ts";

export interface LocalEnvironmentParts {
  readonly options: TerminalOptions;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Home of the profile; its folder `home/` is HOME of commands if `home_mode` is `profile`. */
  readonly profileHome: string;
  /** The start folder of commands unless the settings name another one. */
  readonly cwd: string;
  /** How long the init files may take. */
  readonly initFilesMs?: number;
}

/** Runs commands on this machine as this user, without isolation. */
export async function openLocalEnvironment({
  options,
  variables,
  profileHome,
  cwd,
  initFilesMs,
}: LocalEnvironmentParts): Promise<Environment> {
  const home = options.home_mode === "profile" ? join(profileHome, "home") : undefined;
  const env = commandVariables({ variables, passthrough: options.env_passthrough, home });
  const start = await nearestFolder(options.cwd === "" ? cwd : options.cwd);
  const notices: string[] = [];
  let skipsInitFiles = false;
  return createShell({
    cwd: options.cwd.startsWith("~") ? options.cwd : start,
    isReady: async () => true,
    // `refresh` means that the shell exited or was slow before it answered, which only init files can cause.
    async transport(refresh, _, failure) {
      if (refresh && !skipsInitFiles)
        notices.push(
          failure?.code === "shell-init-slow"
            ? `${failure.message} Commands run without them (${initFiles(options).join(", ")}). ${failure.hint}`
            : "The shell's init files exit the shell, so commands run without them.",
        );
      skipsInitFiles ||= refresh;
      return {
        argv: ["sh", ...SHELL_ARGUMENTS],
        env,
        cwd: start,
        ...(skipsInitFiles ? {} : { prelude: prelude(options), preludeMs: initFilesMs }),
      };
    },
    takeNotices: () => notices.splice(0),
  });
}

/** Sources the user's init files that exist; a failing file does not prevent the next. */
function prelude(options: TerminalOptions): string {
  // Only in bash: the files are written for bash, and other shells stop at the first bashism.
  const source = initFiles(options)
    .map((file) => `[ -r ${homePath(file)} ] && . ${homePath(file)}`)
    .join("; ");
  return `if [ -n "$BASHPID" ]; then ${source}; fi; :`;
}

function initFiles({ shell_init_files, auto_source_bashrc }: TerminalOptions): readonly string[] {
  const standard = ["~/.profile", "~/.bash_profile", ...(auto_source_bashrc ? ["~/.bashrc"] : [])];
  return shell_init_files.length > 0 ? shell_init_files : standard;
}

function homePath(path: string): string {
  return path.startsWith("~/") ? `"$HOME"/${quoteWord(path.slice(2))}` : quoteWord(path);
}

/** The folder itself, or its nearest existing parent. */
async function nearestFolder(path: string): Promise<string> {
  if (path.startsWith("~") || path === "/") return "/";
  try {
    await access(path);
    return path;
  } catch {
    return nearestFolder(dirname(path));
  }
}
