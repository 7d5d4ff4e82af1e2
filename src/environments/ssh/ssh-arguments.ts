import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { quoteWord } from "../channel/quote.ts";
import type { TerminalOptions } from "../options.ts";

/** Which host, as whom, and how ssh is called for that. */
export interface SshTarget {
  readonly options: TerminalOptions;
  /** Further options of ssh, before ours: the first one counts. */
  readonly extraArguments?: readonly string[];
}

/** How long an idle connection is kept for the next process. */
const PERSIST_SECONDS = 300;

/** A shell that speaks the language of channels, as one command that any login shell hands on unchanged. */
export const CHANNEL_COMMAND = ["sh", ...SHELL_ARGUMENTS]
  .map((word) => (/^[\w-]+$/.test(word) ? word : quoteWord(word)))
  .join(" ");

/** The arguments of ssh; without a socket the connection is this command's own. */
export function sshArguments(target: SshTarget, socket: string | undefined, command: string): string[] {
  const { options, extraArguments = [] } = target;
  const settings = [
    "BatchMode=yes",
    "StrictHostKeyChecking=accept-new",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    // No banner and no "Permanently added": they would stand among the words of a failure.
    "LogLevel=ERROR",
    // A person's own ones for this host are for their terminal, and a second connection could not have the same again.
    "ClearAllForwardings=yes",
    "RemoteCommand=none",
    ...sharing(socket),
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
 * The process that holds the connection is counted on by everyone who uses the socket, and ends by itself when nobody has
 * for a while. So nobody may ever tell it to exit.
 */
function sharing(socket: string | undefined): string[] {
  return socket === undefined
    ? ["ControlMaster=no", "ControlPath=none"]
    : ["ControlMaster=auto", `ControlPath=${socket}`, `ControlPersist=${PERSIST_SECONDS}`];
}
