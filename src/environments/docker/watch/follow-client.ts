import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { AppError } from "../../../lib/errors.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import type { Engine } from "../engine/engine.ts";

/**
 * Runs the client until its standard input ends, which happens even if our process is killed: a client that waits for events
 * would otherwise wait forever. The shell closes its own output, so that the output ends with the client.
 */
const UNTIL_INPUT_ENDS = '"$@" </dev/null & client=$!; exec >&-; read -r _; kill "$client" 2>/dev/null; wait';
const MAX_COMPLAINT_LENGTH = 500;

export interface FollowedClient extends AsyncDisposable {
  /** Rejects when the client ends by itself; stays pending after disposal. */
  readonly failed: Promise<never>;
}

/** Runs a command of the client that prints lines until it is ended, such as `events`. */
export function followClient(
  engine: Engine,
  args: readonly string[],
  onLine: (line: string) => void,
): FollowedClient {
  const child = spawn("/bin/sh", ["-c", UNTIL_INPUT_ENDS, "sh", engine.binary, ...args], {
    env: engine.env,
    stdio: "pipe",
    detached: true, // so that Ctrl-C in our terminal does not end it before us
  });
  const exited = once(child, "close").catch(() => undefined);
  let isDisposed = false;
  let complaint = "";
  child.stdin.on("error", () => undefined); // the shell has exited
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (complaint.length < MAX_COMPLAINT_LENGTH) complaint += text;
  });
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    if (!isDisposed) onLine(line);
  });
  const failed = new Promise<never>((_, reject) => {
    const end = (): void => {
      child.stdin.end();
      if (isDisposed) return;
      const reason = shorten(complaint.trim(), MAX_COMPLAINT_LENGTH) || "it has ended";
      reject(new AppError("sandbox-unavailable", `The container client cannot be followed: ${reason}`));
    };
    lines.once("close", end);
    child.once("error", end);
  });
  failed.catch(() => undefined); // callers that only dispose it do not read the failure
  return {
    failed,
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      child.stdin.end();
      await exited;
    },
  };
}
