import { userInfo } from "node:os";
import { isAbsolute } from "node:path";
import type { App } from "../app.ts";
import type { Log } from "../lib/log/log.ts";
import type { GlobalFlags } from "./global-flags.ts";
import type { Terminal, TerminalStreams } from "./terminal.ts";

/** All that a command gets from outside. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly flags: GlobalFlags;
  /** For what is passed on byte for byte; everything of ours goes through the terminal. */
  readonly streams: TerminalStreams;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly signal: AbortSignal;
  /** The profile and its settings, as every entry point sees them. */
  openApp(): Promise<App>;
  /** The profile's log, opened when first asked for: most commands have nothing to write down. */
  log(): Promise<Log>;
  /** Ends the command with this exit code once it has returned; for commands that hand on someone else's. */
  exit(code: number): void;
  readonly exitCode: number;
}

export function createContext(
  flags: GlobalFlags,
  terminal: Terminal,
  streams: TerminalStreams,
  signal: AbortSignal,
): CommandContext & AsyncDisposable {
  const { env: variables } = streams;
  const { HOME: home = "" } = variables;
  // An empty or relative one would put a home into whichever folder a command is called in.
  const userHome = isAbsolute(home) ? home : userInfo().homedir;
  let log: Promise<Log & Disposable> | undefined;
  let exitCode = 0;
  const openApp = async (): Promise<App> => {
    const { openApp } = await import("../app.ts");
    return openApp({ profile: flags.profile, settings: flags.settings, variables, userHome });
  };
  const openLog = async (): Promise<Log & Disposable> => {
    const { openAppLog } = await import("../app.ts");
    return openAppLog(await openApp(), "cli");
  };
  return {
    terminal,
    flags,
    streams,
    variables,
    userHome,
    signal,
    openApp,
    log() {
      log ??= openLog();
      return log;
    },
    exit(code) {
      exitCode = code;
    },
    get exitCode() {
      return exitCode;
    },
    async [Symbol.asyncDispose]() {
      (await log?.catch(() => undefined))?.[Symbol.dispose]();
    },
  };
}
