import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { AppError } from "../../lib/errors.ts";
import { holdTerminalModes } from "../../lib/terminal-modes.ts";
import type { Engine } from "./engine.ts";
import { CHANNEL_MARK } from "./keeper.ts";
import { LAST_USE_FILE } from "./last-use.ts";

const ENDS_WITHIN_MS = 10_000;

/** Field: ID. It stays in front of the shell: its arguments say that somebody holds the sandbox, and which shell it is. */
const SHELL = "if command -v bash >/dev/null 2>&1; then bash; else sh; fi; exit $?";

/**
 * Field: ID of the shell. The engine does not end what runs in a container when its client dies, so this one waits
 * beside the shell, with a pipe to our process as its input. `over` says that the shell has ended; when the pipe ends
 * without a word, we are gone, with whatever terminal we had. The shell is then told what a terminal that is closed tells
 * it: HUP for itself, which hands it on to its jobs, and for what is in the foreground. What ignores it lives on, as
 * nohup promises; the shell does not.
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

export interface ShellPlace {
  /** The running sandbox. */
  readonly id: string;
  readonly workingFolder: string;
  /** More words for the client, and what it finds in its environment. */
  readonly flags: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Puts the person's terminal in front of a new shell in the sandbox and resolves to its exit code. The shell ends with
 * us, however we end.
 */
export async function runShell(
  engine: Engine,
  { id, workingFolder, flags, variables }: ShellPlace,
  signal: AbortSignal,
): Promise<number> {
  const mark = randomBytes(8).toString("hex");
  const words = (program: string): string[] => [id, "sh", "-c", program, CHANNEL_MARK, mark];
  await using watch = await openWatch(engine, words(WATCH), signal);
  using _modes = holdTerminalModes(); // a client that was killed cannot put them back
  const child = spawn(engine.binary, ["exec", "-it", ...flags, "-w", workingFolder, ...words(SHELL)], {
    stdio: "inherit",
    env: { ...engine.env, ...variables },
  });
  const hangUp = (): void => watch.hangUp(); // the client ends with the shell, and leaves the terminal as it was
  signal.addEventListener("abort", hangUp, { once: true });
  if (signal.aborted) hangUp();
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== null) watch.say("over\n");
    signal.throwIfAborted();
    return code ?? 1;
  } finally {
    signal.removeEventListener("abort", hangUp);
  }
}

async function openWatch(engine: Engine, words: readonly string[], signal: AbortSignal) {
  // A session of its own: what ends us in our terminal must not end it first.
  const child = spawn(engine.binary, ["exec", "-i", ...words], { env: engine.env, detached: true });
  child.stdin.on("error", () => undefined); // told by its exit
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint += text;
  });
  const watch = {
    say: (word: string) => void child.stdin.end(word),
    hangUp: () => void child.stdin.end(),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      const giveUp = setTimeout(() => child.kill("SIGKILL"), ENDS_WITHIN_MS);
      await ended(child);
      clearTimeout(giveUp);
    },
  };
  try {
    const isReady = await Promise.race([
      once(child.stdout, "data", { signal }).then(() => true),
      ended(child).then(() => false),
    ]);
    if (isReady) return watch;
  } catch (error) {
    await watch[Symbol.asyncDispose]();
    throw error;
  }
  const said = complaint.trim().split("\n").at(-1);
  throw new AppError("sandbox-unavailable", `No shell could be started in the sandbox: ${said}.`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
