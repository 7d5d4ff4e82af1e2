import { access } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { quoteWord } from "../channel/quote.ts";
import { createShell } from "../channel/shell.ts";
import type { Environment } from "../environment.ts";
import type { TerminalOptions } from "../options.ts";
import { commandVariables } from "./command-variables.ts";

export interface LocalPlace {
  readonly options: TerminalOptions;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Home of the profile; its folder `home/` is HOME of commands when `home_mode` says so. */
  readonly profileHome: string;
  /** Where commands start unless the settings say otherwise. */
  readonly cwd: string;
}

/** Commands on this machine, as this user: no isolation, only order. */
export async function openLocalEnvironment({
  options,
  variables,
  profileHome,
  cwd,
}: LocalPlace): Promise<Environment> {
  const home = options.home_mode === "profile" ? join(profileHome, "home") : undefined;
  const env = commandVariables({ variables, passthrough: options.env_passthrough, home });
  const start = await nearestFolder(options.cwd === "" ? cwd : options.cwd);
  const notices: string[] = [];
  return createShell({
    cwd: options.cwd.startsWith("~") ? options.cwd : start,
    isThere: async () => true,
    // Asked anew means that the shell ended before it answered, and only its init files can have done that.
    async transport(anew) {
      if (anew) notices.push("The shell's init files end the shell, so commands run without them.");
      return {
        argv: ["sh", ...SHELL_ARGUMENTS],
        env,
        cwd: start,
        ...(anew ? {} : { prelude: prelude(options) }),
      };
    },
    takeNotices: () => notices.splice(0),
  });
}

/** Sources the person's own files, each only if it is there; a failing one does not stop the next. */
function prelude({ shell_init_files, auto_source_bashrc }: TerminalOptions): string {
  const standard = ["~/.profile", "~/.bash_profile", ...(auto_source_bashrc ? ["~/.bashrc"] : [])];
  const files = shell_init_files.length > 0 ? shell_init_files : standard;
  // Only bash reads them: they are written for it, and other shells stop at their first bashism.
  const source = files.map((file) => `[ -r ${homePath(file)} ] && . ${homePath(file)}`).join("; ");
  return `if [ -n "$BASHPID" ]; then ${source}; fi; :`;
}

function homePath(path: string): string {
  return path.startsWith("~/") ? `"$HOME"/${quoteWord(path.slice(2))}` : quoteWord(path);
}

/** The folder itself, or the nearest one above it that still exists. */
async function nearestFolder(path: string): Promise<string> {
  if (path.startsWith("~") || path === "/") return "/";
  try {
    await access(path);
    return path;
  } catch {
    return nearestFolder(dirname(path));
  }
}
