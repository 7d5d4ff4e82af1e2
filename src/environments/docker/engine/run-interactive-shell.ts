import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { AppError } from "../../../lib/errors.ts";
import { saveTerminalModes } from "../../../lib/process/terminal-modes.ts";
import { CHANNEL_MARK } from "../lifecycle/keeper.ts";
import { LAST_USE_FILE } from "../lifecycle/last-use.ts";
import type { Engine } from "./engine.ts";

const ENDS_WITHIN_MS = 10_000;

/**
 * Argument: ID. This `sh` stays the parent of the user's shell, because its arguments mark the sandbox as held and
 * identify the shell.
 */
const SHELL = "if command -v bash >/dev/null 2>&1; then bash; else sh; fi; exit $?";

/**
 * Argument: ID of the shell. The engine does not end a command in a container when its client dies, so this script
 * watches the shell, with a pipe to our process as its input. The line `over` means that the shell has exited. If the
 * pipe ends without it, our process has died. The script then acts like a closed terminal: it sends HUP to the
 * foreground processes and to the shell, which forwards it to its jobs. Processes that ignore HUP survive, as nohup
 * promises; the shell is killed.
 */
const WATCH = `: >${LAST_USE_FILE}
echo watching
word=; IFS= read -r word
case $word in over) tries=1 ;; *) tries=50 ;; esac
pause() { sleep 0.1 2>/dev/null || sleep 1; }
find_leader() {
  for d in /proc/[0-9]*; do
    [ "\${d#/proc/}" != "$$" ] || continue
    line=; IFS= read -r line <"$d/cmdline"
    case $line in *"$1") leader=\${d#/proc/}; return ;; esac
  done 2>/dev/null
  return 1
}
each_shell() {
  for d in /proc/[0-9]*; do
    line=; { IFS= read -r line <"$d/stat"; } || continue
    set -- "$1" \${line##*) }
    [ "$3" != "$leader" ] || kill "-$1" "\${d#/proc/}"
  done 2>/dev/null
}
foreground() { [ "$6" -le 1 ] || kill -HUP "-$6"; }
while [ "$tries" -gt 0 ] && ! find_leader "$1"; do
  tries=$((tries - 1))
  [ "$tries" -eq 0 ] || pause
done
if [ "$tries" -gt 0 ]; then
  line=; IFS= read -r line <"/proc/$leader/stat"
  foreground \${line##*) }
  each_shell HUP
  tries=20
  while [ "$tries" -gt 0 ] && [ -d "/proc/$leader" ]; do tries=$((tries - 1)); pause; done
  each_shell KILL
  kill -KILL "$leader"
fi 2>/dev/null
: >${LAST_USE_FILE}`;

export interface InteractiveShellOptions {
  readonly id: string;
  readonly workingFolder: string;
  /** Additional flags and environment variables for the client. */
  readonly flags: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Connects the user's terminal to a new shell in the sandbox and resolves to its exit code. The shell ends when our
 * process ends, even if our process is killed.
 */
export async function runInteractiveShell(
  engine: Engine,
  { id, workingFolder, flags, variables }: InteractiveShellOptions,
  signal: AbortSignal,
): Promise<number> {
  const mark = `${process.pid}-${randomBytes(8).toString("hex")}`;
  const words = (program: string): string[] => [id, "sh", "-c", program, CHANNEL_MARK, mark];
  await using watch = await openWatch(engine, words(WATCH), signal);
  using _modes = saveTerminalModes(); // a client that is killed cannot restore the modes
  const child = spawn(engine.binary, ["exec", "-it", ...flags, "-w", workingFolder, ...words(SHELL)], {
    stdio: "inherit",
    env: { ...engine.env, ...variables },
  });
  const hangUp = (): void => watch.hangUp(); // the client exits with the shell and restores the terminal
  signal.addEventListener("abort", hangUp, { once: true });
  if (signal.aborted) hangUp();
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== null) watch.send("over\n");
    signal.throwIfAborted();
    return code ?? 1;
  } finally {
    signal.removeEventListener("abort", hangUp);
  }
}

async function openWatch(engine: Engine, words: readonly string[], signal: AbortSignal) {
  // In its own session, so that a signal from our terminal does not end the watch before us.
  const child = spawn(engine.binary, ["exec", "-i", ...words], { env: engine.env, detached: true });
  child.stdin.on("error", () => undefined); // the exit reports the failure
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint += text;
  });
  const watch = {
    send: (line: string) => void child.stdin.end(line),
    hangUp: () => void child.stdin.end(),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      const killTimer = setTimeout(() => child.kill("SIGKILL"), ENDS_WITHIN_MS);
      await waitForExit(child);
      clearTimeout(killTimer);
    },
  };
  try {
    const isReady = await Promise.race([
      once(child.stdout, "data", { signal }).then(() => true),
      waitForExit(child).then(() => false),
    ]);
    if (isReady) return watch;
  } catch (error) {
    await watch[Symbol.asyncDispose]();
    throw error;
  }
  const lastLine = complaint.trim().split("\n").at(-1);
  throw new AppError("sandbox-unavailable", `Cannot start a shell in the sandbox: ${lastLine}.`);
}

async function waitForExit(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
