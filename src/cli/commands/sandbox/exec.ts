import { fstatSync } from "node:fs";
import type { EnvironmentRequest } from "../../../environments/environment-request.ts";
import { lookAfterAbandoned, openEnvironment } from "../../../environments/open-environment.ts";
import { openDeadline } from "../../../lib/deadline.ts";
import { AppError, ERROR_CODES, messageOf } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import type { TerminalStreams } from "../../terminal.ts";
import { writeRaw } from "./follow-output.ts";
import { requestFor } from "./place.ts";

interface ExecOptions {
  readonly task: string;
  readonly timeout?: number;
  readonly workdir?: string;
}

const OUR_FAILURE = 125;
const TIDY_WITHIN_MS = 10_000;

/** Runs one command and hands on everything about it; what we have to say ourselves goes to stderr. */
export async function execInSandbox(
  context: CommandContext,
  words: readonly string[],
  options: ExecOptions,
): Promise<void> {
  const { terminal, streams } = context;
  // What the command prints to stderr is as good a reason as what it prints to stdout.
  const unread = new AbortController();
  streams.stderr.once("error", () => unread.abort(new AppError("reader-gone", "Nobody reads stderr.")));
  const signal = AbortSignal.any([context.signal, unread.signal]);
  try {
    const { request } = await requestFor(context, options.task);
    await using environment = await openEnvironment({ ...request, runsAtOnce: true }, signal);
    const result = await environment.run(
      {
        command: words.join(" "),
        session: environment.openSession(),
        workdir: options.workdir,
        timeoutMs: (options.timeout ?? request.options.timeout) * 1_000,
        stdin: pipedInput(streams.stdin),
        onOutput: (stream, bytes) => writeRaw(bytes, streams[stream], signal),
      },
      signal,
    );
    for (const notice of result.notices) terminal.note(`hermes: ${notice}`);
    if (result.badWorkdir)
      terminal.note(`hermes: the folder ${options.workdir ?? "of the session"} does not exist there.`);
    if (result.ended === "timed-out") terminal.note("hermes: the command timed out.");
    const isUnread = result.ended === "stopped" && isReaderGone(signal);
    if (result.ended === "stopped" && !isUnread) terminal.note("hermes: the command was stopped.");
    context.exit(isUnread ? ERROR_CODES["reader-gone"].exit : result.exitCode);
    await tidyUp(request, context);
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    terminal.note(`hermes: ${error.message}\n  ${error.hint}`);
    context.exit(OUR_FAILURE);
  } finally {
    streams.stdin.destroy(); // an input that stays open must not keep us
  }
}

/** Looks after what earlier processes abandoned, when the person has long had the answer. */
async function tidyUp(request: EnvironmentRequest, { terminal, signal }: CommandContext): Promise<void> {
  using deadline = openDeadline(signal, TIDY_WITHIN_MS);
  await lookAfterAbandoned(request, deadline.signal).catch((error: unknown) => {
    terminal.note(`hermes: abandoned sandboxes were not looked for: ${messageOf(error)}`);
  });
}

/** Piped input, if there is any; a terminal is not waited for, and neither is /dev/null. */
function pipedInput(stdin: TerminalStreams["stdin"]): AsyncIterable<Uint8Array> | undefined {
  const stats = statsOf(stdin);
  return stats?.isFIFO() || stats?.isFile() || stats?.isSocket() ? stdin : undefined;
}

function statsOf({ fd }: TerminalStreams["stdin"]) {
  try {
    return fstatSync(fd);
  } catch {
    return undefined; // closed
  }
}

/** `exec -- yes | head`: the command was stopped because nobody reads what it prints. */
function isReaderGone({ reason }: AbortSignal): boolean {
  return reason instanceof AppError && reason.code === "reader-gone";
}
