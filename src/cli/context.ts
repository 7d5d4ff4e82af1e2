import { userInfo } from "node:os";
import { isAbsolute } from "node:path";
import type { App, AppChoice } from "../app/app.ts";
import type { Reporter } from "../environments/environment-request.ts";
import type { Log } from "../lib/log/log.ts";
import type { FirstFrame } from "./chat/window/first-frame.ts";
import type { GlobalFlags } from "./global-flags.ts";
import { withProfileFlag } from "./profile-flag.ts";
import type { Terminal, TerminalStreams } from "./terminal/terminal.ts";

/** The option of every command that prints data. */
export interface JsonOption {
  readonly json?: boolean;
}

/** Everything that a command receives from its caller. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly flags: GlobalFlags;
  /** The raw streams, for bytes that are passed through unchanged. All other output goes through `terminal`. */
  readonly streams: TerminalStreams;
  readonly variables: App["variables"];
  readonly userHome: string;
  /** Selects the profile and its settings. */
  readonly choice: AppChoice;
  /** Prints notices and progress to stderr. */
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
  /** The first frame of the chat, which the entry of the program paints before the command is loaded. */
  readonly firstFrame: FirstFrame | undefined;
  /** Loads the profile and its settings. */
  openApp(): Promise<App>;
  /** The profile's log. Opened on first use, because most commands log nothing. */
  log(): Promise<Log>;
  /** Sets the exit code without an error, for example to that of another program. */
  exit(code: number): void;
  readonly exitCode: number;
}

export function createContext(
  flags: GlobalFlags,
  terminal: Terminal,
  streams: TerminalStreams,
  firstFrame: FirstFrame | undefined,
  signal: AbortSignal,
): CommandContext & AsyncDisposable {
  const { env: variables } = streams;
  const { HOME: home = "" } = variables;
  // With an empty or relative HOME, the Hermes home would be created in the current folder.
  const userHome = isAbsolute(home) ? home : userInfo().homedir;
  let log: Promise<Log & Disposable> | undefined;
  let exitCode = 0;
  const choice = { profile: flags.profile, settings: flags.settings, variables, userHome };
  const notify = (text: string): void => terminal.note(`hermes: ${withProfileFlag(text, flags.profile)}`);
  const openLog = async (): Promise<Log & Disposable> => {
    const { openApp, openAppLog } = await import("../app/app.ts");
    return openAppLog(await openApp(choice), "cli");
  };
  return {
    terminal,
    flags,
    streams,
    variables,
    userHome,
    choice,
    reporter: { onNotice: notify, onProgress: notify },
    signal,
    firstFrame,
    openApp: async () => (await import("../app/app.ts")).openApp(choice),
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
