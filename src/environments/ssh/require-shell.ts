import { randomBytes } from "node:crypto";
import { AppError } from "../../lib/errors.ts";
import { runProcess } from "../../lib/process/process.ts";
import { type SshTarget, sshArguments } from "./ssh-arguments.ts";
import { createSshFailure, lastLine, stripControls } from "./ssh-failure.ts";

/** Longer than ssh's own connect timeout, so that ssh can report the error. */
const WITHIN_MS = 25_000;

/**
 * Checks over a separate, unshared connection that the host accepts the login and runs commands; throws with the reason
 * and a hint otherwise.
 */
export async function requireShell(
  target: SshTarget,
  variables: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<void> {
  const word = randomBytes(8).toString("hex");
  const args = sshArguments(target, undefined, `echo ${word}`);
  const bounds = { env: variables, timeoutMs: WITHIN_MS, maxOutputBytes: 256 * 1024 };
  const result = await runProcess(["ssh", ...args], bounds, signal);
  if (result.stdout.includes(word)) return;
  const { options } = target;
  if (result.timedOut) throw createSshFailure(options, "timed out: connected, but the host did not respond");
  if (result.exitCode === 255) throw createSshFailure(options, result.stderr);
  const output = lastLine(stripControls(`${result.stderr}\n${result.stdout}`));
  const message = `The login shell of ${options.ssh_user} on ${options.ssh_host} does not run commands`;
  throw new AppError(
    "channel-unopened",
    `${message}: ${output || `it exits with exit code ${result.exitCode}`}.`,
    {
      hint: "Give the user another shell with `chsh -s /bin/sh`, check its startup files for `exit` or `exec`, or set terminal.ssh_user.",
    },
  );
}
