import { randomBytes } from "node:crypto";
import { AppError } from "../../lib/errors.ts";
import { runProcess } from "../../lib/process.ts";
import { type SshTarget, sshArguments } from "./ssh-arguments.ts";
import { createSshFailure, lastLine, printable } from "./ssh-failure.ts";

/** Longer than ssh's own limit for connecting, so that it can say what is wrong. */
const WITHIN_MS = 25_000;

/**
 * Finds out over a connection of its own, which nobody else's depends on, whether the host lets us in and runs commands;
 * throws with what is wrong and what to do.
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
  if (result.timedOut) throw createSshFailure(options, "timed out: it connects, but then says nothing");
  if (result.exitCode === 255) throw createSshFailure(options, result.stderr);
  const said = lastLine(printable(`${result.stderr}\n${result.stdout}`));
  const message = `The login shell of ${options.ssh_user} on ${options.ssh_host} runs no commands`;
  throw new AppError(
    "channel-unopened",
    `${message}: ${said || `it ends with exit code ${result.exitCode}`}.`,
    {
      hint: "Give the user another shell with `chsh -s /bin/sh`, look for an `exit` or `exec` in its start files, or set terminal.ssh_user.",
    },
  );
}
