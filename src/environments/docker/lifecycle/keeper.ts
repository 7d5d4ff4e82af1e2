import { SHELL_ARGUMENTS } from "../../channel/driver.ts";

/** Identifies the main process of a sandbox in a process table. */
export const KEEPER_MARK = "hermes-keeper";

/** Identifies the shell of a channel in a process table; a live one means that a process holds the sandbox. */
export const CHANNEL_MARK = "hermes-channel";

/** The command line of a channel's shell; its last argument is the pid of the process that holds the sandbox. */
export function channelCommand(): string[] {
  return ["sh", ...SHELL_ARGUMENTS, String(process.pid)];
}

/** The signal that `stop` sends. Not TERM, because `pkill sh` in the sandbox must not end the keeper. */
export const STOP_SIGNAL = "USR1";

/** The command that the main process runs in a loop. */
export const KEEPER_SLEEP = "sleep 86400";

/**
 * The main process of a sandbox. It is idle, writes nothing, survives `pkill sleep` and `pkill sh`, and exits at once
 * when the engine stops the container. When `sleep` cannot be started, it suspends itself instead of spinning.
 */
const KEEPER = `trap 'exit 0' ${STOP_SIGNAL}; trap '' TERM INT HUP QUIT
while :; do ${KEEPER_SLEEP} & wait $!; case $? in 126|127) kill -STOP $$;; esac; done`;

/** The keeper as arguments of `sh`. */
export const KEEPER_ARGUMENTS = ["-c", KEEPER, KEEPER_MARK] as const;
