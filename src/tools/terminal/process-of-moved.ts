import { plainOutput } from "../../lib/text/plain-output.ts";
import { failedJson, okJson } from "../define-tool.ts";
import type { ToolResult } from "../tool.ts";
import type { MovedCommand } from "./moved-commands.ts";

const PREVIEW_LINES = 20;
const LOG_LINES = 200;

interface MovedCall {
  readonly action: "poll" | "log" | "wait" | "kill" | "write" | "submit" | "close";
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
  /** The longest wait. */
  readonly seconds: number;
}

/** Runs an action of the tool `process` on a command that was moved to the background. */
export async function runMovedAction(
  moved: MovedCommand,
  { action, offset, limit = LOG_LINES, seconds }: MovedCall,
  redact: (text: string) => string,
  signal: AbortSignal,
): Promise<ToolResult> {
  const lines = (): string[] =>
    redact(plainOutput(moved.output().toString("utf8")))
      .trimEnd()
      .split("\n");
  const preview = (): string => lines().slice(-PREVIEW_LINES).join("\n");
  switch (action) {
    case "poll":
      return okJson({ ...describeMoved(moved), output: preview() });
    case "log": {
      const all = lines();
      const from = offset ?? Math.max(0, all.length - limit);
      const page = all.slice(from, from + limit);
      return okJson({
        ...describeMoved(moved),
        offset: from,
        total_lines: all.length,
        output: page.join("\n"),
      });
    }
    case "wait": {
      await untilEnded(moved, seconds * 1_000, signal);
      const hasEnded = moved.result() !== undefined;
      const note = hasEnded ? undefined : `It is still running after ${seconds} s.`;
      const status = hasEnded ? "exited" : signal.aborted ? "interrupted" : "timeout";
      return okJson({ status, ...describeMoved(moved), note, output: hasEnded ? preview() : undefined });
    }
    case "kill": {
      const status = moved.result() === undefined ? "killed" : "already-ended";
      moved.kill();
      await moved.ended;
      return okJson({ status, ...describeMoved(moved) });
    }
    default:
      return failedJson({ error: "It takes no input: it was started in the foreground." });
  }
}

export function describeMoved({ id, command, result }: MovedCommand) {
  const { exitCode, ended } = result() ?? {};
  return { session_id: id, command, state: ended === undefined ? "running" : "ended", exit_code: exitCode };
}

async function untilEnded({ ended }: MovedCommand, ms: number, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const waited = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    done.signal.addEventListener("abort", () => clearTimeout(timer));
    signal.addEventListener("abort", () => resolve(), { signal: done.signal });
    if (signal.aborted) resolve();
  });
  await Promise.race([ended, waited]);
  done.abort();
}
