import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Transport } from "../channel/channel.ts";
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
  /** The root home, if it differs from the profile's home. */
  readonly rootHome?: string;
  /** The start folder of commands unless the settings name another one. */
  readonly cwd: string;
  /** Receives notices for the user about the sandbox. */
  readonly onNotice?: ((text: string) => void) | undefined;
  /** How long the init files may take. */
  readonly initFilesMs?: number;
}

/** Runs commands on this machine as this user, in the local sandbox if the settings say so. */
export async function openLocalEnvironment(parts: LocalEnvironmentParts): Promise<Environment> {
  const { options, variables, profileHome, rootHome = profileHome, cwd } = parts;
  const home = options.home_mode === "profile" ? join(profileHome, "home") : undefined;
  const env = commandVariables({ variables, passthrough: options.env_passthrough, home });
  const start = await nearestFolder(options.cwd === "" ? cwd : options.cwd);
  const open = (transport: ShellParts["transport"], release?: () => Promise<void>): Environment =>
    openShell(parts, { start, transport, release });
  const outside = open(async () => ({ argv: ["sh", ...SHELL_ARGUMENTS], env, cwd: start }));
  if (options.local_sandbox === "off") return outside;
  const { openLocalSandbox } = await import("./sandbox/local-sandbox.ts");
  const hermesHomes = [rootHome, profileHome] as const;
  const project = options.cwd.startsWith("~") ? join(env["HOME"] ?? homedir(), options.cwd.slice(1)) : start;
  const sandbox = openLocalSandbox({
    options,
    variables: env,
    hermesHomes,
    cwd: project,
    onNotice: parts.onNotice,
  });
  const inside = open(
    (signal) => sandbox.transport(signal),
    async () => sandbox[Symbol.asyncDispose](),
  );
  return sandbox.combine(inside, outside);
}

interface ShellParts {
  readonly start: string;
  transport(signal: AbortSignal): Promise<Transport>;
  readonly release?: (() => Promise<void>) | undefined;
}

function openShell(
  { options, initFilesMs }: LocalEnvironmentParts,
  { start, transport, release }: ShellParts,
): Environment {
  const notices: string[] = [];
  let skipsInitFiles = false;
  return createShell({
    cwd: options.cwd.startsWith("~") ? options.cwd : start,
    isReady: async () => true,
    // `refresh` means that the shell exited or was slow before it answered, which only init files can cause.
    async transport(refresh, signal, failure) {
      if (refresh && !skipsInitFiles)
        notices.push(
          failure?.code === "shell-init-slow"
            ? `${failure.message} Commands run without them (${initFiles(options).join(", ")}). ${failure.hint}`
            : "The shell's init files exit the shell, so commands run without them.",
        );
      skipsInitFiles ||= refresh;
      return {
        ...(await transport(signal)),
        ...(skipsInitFiles ? {} : { prelude: prelude(options), preludeMs: initFilesMs }),
      };
    },
    takeNotices: () => notices.splice(0),
    ...(release && { release }),
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
