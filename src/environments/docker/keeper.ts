/** The word by which the main process is known in a process table. */
export const KEEPER_MARK = "hermes-keeper";

/** The word that the channel's shell carries in its arguments: whoever has one alive holds the sandbox. */
export const CHANNEL_MARK = "hermes-channel";

/** Sent by `stop`. Not TERM, because a `pkill sh` in the sandbox must not end it. */
export const STOP_SIGNAL = "USR1";

/** What the main process waits for, again and again. */
export const KEEPER_WAITS = "sleep 86400";

/**
 * The main process of a sandbox: does nothing, uses no time, writes nothing, outlives `pkill sleep` and `pkill sh`, and
 * ends at once when the engine stops it. Where `sleep` cannot be started any more it stands still instead of spinning.
 */
const KEEPER = `trap 'exit 0' ${STOP_SIGNAL}; trap '' TERM INT HUP QUIT
while :; do ${KEEPER_WAITS} & wait $!; case $? in 126|127) kill -STOP $$;; esac; done`;

/** The keeper as arguments of `sh`. */
export const KEEPER_ARGUMENTS = ["-c", KEEPER, KEEPER_MARK] as const;
