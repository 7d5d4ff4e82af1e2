import type { EnvironmentRequest } from "../../../environments/environment-request.ts";
import { openEnvironment, reclaimAbandonedSandboxes } from "../../../environments/open-environment.ts";
import { AppError, EXIT_CODES, messageOf } from "../../../lib/errors.ts";
import { openDeadline } from "../../../lib/time/deadline.ts";
import type { CommandContext } from "../../context.ts";
import { readInputKind } from "../../terminal/input-kind.ts";
import type { TerminalStreams } from "../../terminal/terminal.ts";
import { writeRaw } from "./follow-output.ts";
import { createSandboxRequest } from "./sandbox-context.ts";

interface ExecOptions {
  readonly task: string;
  readonly timeout?: number;
  readonly workdir?: string;
}

const OUR_FAILURE = 125;
const RECLAIM_WITHIN_MS = 10_000;

/** Runs one command and passes its input, output and exit code through. Notices of Hermes go to stderr. */
export async function execInSandbox(
  context: CommandContext,
  words: readonly string[],
  options: ExecOptions,
): Promise<void> {
  const { terminal, streams } = context;
  // A closed stderr stops the command just as a closed stdout does.
  const stderrClosed = new AbortController();
  streams.stderr.once("error", () => stderrClosed.abort(new AppError("reader-gone", "stderr was closed.")));
  const signal = AbortSignal.any([context.signal, stderrClosed.signal]);
  try {
    const { request } = await createSandboxRequest(context, options.task);
    const printed = new Set<string>();
    const reporter = {
      ...request.reporter,
      onNotice(text: string): void {
        printed.add(text);
        request.reporter.onNotice(text);
      },
    };
    await using environment = await openEnvironment(
      { ...request, reporter, runsCommandAtOnce: true },
      signal,
    );
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
    for (const notice of result.notices) if (!printed.has(notice)) terminal.note(`hermes: ${notice}`);
    if (result.badWorkdir)
      terminal.note(
        `hermes: the folder ${options.workdir ?? "of the session"} does not exist in the sandbox.`,
      );
    if (result.ended === "timed-out") terminal.note("hermes: the command timed out.");
    const isClosed = result.ended === "stopped" && hasReason(signal, "reader-gone");
    if (result.ended === "stopped" && !isClosed) terminal.note("hermes: the command was stopped.");
    context.exit(isClosed ? EXIT_CODES["reader-gone"] : result.exitCode);
    if (hasReason(signal, "output-unwritable")) context.exit(OUR_FAILURE);
    await reclaimAbandoned(request, context);
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    terminal.note(`hermes: ${error.message}\n  ${error.hint}`);
    context.exit(OUR_FAILURE);
  } finally {
    streams.stdin.destroy(); // an open stdin would keep this process running
  }
}

/** Reclaims sandboxes that earlier processes abandoned, after the result was printed. */
async function reclaimAbandoned(
  request: EnvironmentRequest,
  { terminal, signal }: CommandContext,
): Promise<void> {
  if (signal.aborted) return; // the next command reclaims them
  using deadline = openDeadline(signal, RECLAIM_WITHIN_MS);
  await reclaimAbandonedSandboxes(request, deadline.signal).catch((error: unknown) => {
    if (signal.aborted) return;
    terminal.note(`hermes: abandoned sandboxes were not reclaimed: ${messageOf(error)}`);
  });
}

/** Piped input, if any; a terminal or /dev/null is not read. */
function pipedInput(stdin: TerminalStreams["stdin"]): AsyncIterable<Uint8Array> | undefined {
  return readInputKind(stdin.fd) === undefined ? undefined : stdin;
}

/** Whether the signal was aborted because of the output; `reader-gone` means a closed pipe, as in `exec -- yes | head`. */
function hasReason({ reason }: AbortSignal, code: "reader-gone" | "output-unwritable"): boolean {
  return reason instanceof AppError && reason.code === code;
}
