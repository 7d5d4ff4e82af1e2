import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { quoteWord } from "../channel/quote.ts";
import type { TerminalOptions } from "../options.ts";

/** The host, the user and the options of an ssh call. */
export interface SshTarget {
  readonly options: TerminalOptions;
  /** Additional options, placed before ours because ssh uses the first value of an option. */
  readonly extraArguments?: readonly string[];
}

/** How long an idle connection stays open for the next process. */
const PERSIST_SECONDS = 300;

/** The command that starts a channel's shell, quoted so that any login shell passes it on unchanged. */
export const CHANNEL_COMMAND = ["sh", ...SHELL_ARGUMENTS]
  .map((word) => (/^[\w-]+$/.test(word) ? word : quoteWord(word)))
  .join(" ");

/** The arguments of ssh; without a socket, the command gets a connection of its own. */
export function sshArguments(target: SshTarget, socket: string | undefined, command: string): string[] {
  const { options, extraArguments = [] } = target;
  const settings = [
    "BatchMode=yes",
    "StrictHostKeyChecking=accept-new",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    // Suppresses the banner and "Permanently added", which would mix with error messages.
    "LogLevel=ERROR",
    // The user's forwardings are meant for their own terminal, and a second connection cannot bind the same ports.
    "ClearAllForwardings=yes",
    "RemoteCommand=none",
    ...sharingSettings(socket),
  ];
  return [
    ...extraArguments,
    ...settings.flatMap((setting) => ["-o", setting]),
    "-T",
    ...(options.ssh_port === 22 ? [] : ["-p", String(options.ssh_port)]),
    ...(options.ssh_key === "" ? [] : ["-i", options.ssh_key, "-o", "IdentitiesOnly=yes"]),
    "--",
    `${options.ssh_user}@${options.ssh_host}`,
    command,
  ];
}

/**
 * Never stop the master process with `ssh -O exit`: it serves every user of the socket, and it exits by itself when the
 * connection has been unused for a while.
 */
function sharingSettings(socket: string | undefined): string[] {
  return socket === undefined
    ? ["ControlMaster=no", "ControlPath=none"]
    : ["ControlMaster=auto", `ControlPath=${socket}`, `ControlPersist=${PERSIST_SECONDS}`];
}
