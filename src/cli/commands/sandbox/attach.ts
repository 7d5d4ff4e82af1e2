import { fstatSync } from "node:fs";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import type { Jobs } from "../../../environments/jobs/jobs.ts";
import type { CommandContext } from "../../context.ts";
import { followOutput } from "./follow-output.ts";
import { openJobPlace } from "./job-place.ts";

const DETACH = 0x1d; // Ctrl-]
const RECENT_BYTES = 8_000;
const OUR_FAILURE = 125;

/**
 * Puts a person's terminal in front of a running job: recent output, then what comes, and what is typed goes to the job.
 * Nothing that is typed is kept by us; the job's own echo is part of its output.
 */
export async function attachToJob(
  context: CommandContext,
  id: string,
  { task, eof }: { task: string; eof?: boolean },
): Promise<void> {
  const { terminal } = context;
  await using place = await openJobPlace(context, task);
  const { job } = await place.jobs.poll(id, context.signal);
  const detach = new AbortController();
  const signal = AbortSignal.any([context.signal, detach.signal]);
  if (job.state === "running") terminal.note(`hermes: attached to ${job.id}; ${adviceFor(job)}`);
  using _input = sendInput(place.jobs, job, {
    endsInput: eof ?? false,
    detach: () => detach.abort(),
    onTrouble: (text) => terminal.note(`hermes: ${text}`),
    signal,
  });
  try {
    const onDropped = (bytes: number): void => terminal.note(`hermes: ${bytes} bytes were not kept.`);
    const over = await followOutput(
      place.jobs,
      job.id,
      { from: -RECENT_BYTES, follow: true, onDropped },
      signal,
    );
    terminal.note(`\nhermes: ${job.id} is over: ${over.reason}, exit code ${over.exitCode}.`);
    context.exit(over.exitCode !== undefined && over.exitCode >= 0 ? over.exitCode : OUR_FAILURE);
  } catch (error) {
    if (!detach.signal.aborted) throw error;
    terminal.note(`\nhermes: detached; ${job.id} runs on.`);
  }
}

function adviceFor({ input }: JobRecord): string {
  if (process.stdin.isTTY !== true) return "Ctrl-C detaches.";
  if (input === "terminal") return "Ctrl-] detaches.";
  return input === "pipe" ? "Ctrl-] and Enter detaches." : "it reads nothing; Ctrl-] and Enter detaches.";
}

interface SendOptions {
  readonly endsInput: boolean;
  detach(): void;
  onTrouble(text: string): void;
  readonly signal: AbortSignal;
}

/** Sends what comes on standard input until it is disposed. Keys that come while others are on their way go together. */
function sendInput(jobs: Jobs, job: JobRecord, options: SendOptions): Disposable {
  const { stdin } = process;
  const isTerminal = stdin.isTTY === true;
  if (!isTerminal && !isPiped()) return { [Symbol.dispose]: () => undefined };
  const isRaw = isTerminal && job.input === "terminal";
  const waiting: Buffer[] = [];
  let isSending = false;
  let hasEnded = false;

  async function send(): Promise<void> {
    if (isSending) return;
    isSending = true;
    try {
      while (waiting.length > 0) {
        const outcome = await jobs.write(job.id, Buffer.concat(waiting.splice(0)), options.signal);
        if (outcome !== "written" && outcome !== "ended")
          options.onTrouble(`nothing was sent: ${REFUSALS[outcome]}.`);
      }
      if (hasEnded && options.endsInput) await jobs.close(job.id, options.signal);
    } catch (error) {
      if (!options.signal.aborted) options.onTrouble(`nothing was sent: ${String(error)}`);
    } finally {
      isSending = false;
    }
  }
  const onData = (bytes: Buffer): void => {
    const at = isTerminal ? bytes.indexOf(DETACH) : -1;
    waiting.push(at === -1 ? bytes : bytes.subarray(0, at));
    if (at === -1) void send();
    else options.detach();
  };
  const onEnd = (): void => {
    hasEnded = true;
    void send();
  };
  if (isRaw) stdin.setRawMode(true);
  stdin.on("data", onData);
  stdin.on("end", onEnd);
  return {
    [Symbol.dispose]() {
      stdin.off("data", onData);
      stdin.off("end", onEnd);
      if (isRaw) stdin.setRawMode(false);
      stdin.destroy(); // an input that stays open must not keep us
    },
  };
}

const REFUSALS = {
  "no-input": "the job takes no input",
  closed: "its input is closed",
  blocked: "it does not read",
} as const;

function isPiped(): boolean {
  try {
    const stats = fstatSync(0);
    return stats.isFIFO() || stats.isFile() || stats.isSocket();
  } catch {
    return false; // closed
  }
}
