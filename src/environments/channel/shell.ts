import { randomBytes } from "node:crypto";
import { startAwakeTimer } from "../../lib/awake-timer.ts";
import { openDeadline } from "../../lib/deadline.ts";
import { AppError } from "../../lib/errors.ts";
import type {
  CommandRequest,
  CommandResult,
  Environment,
  SavedShell,
  ShellSession,
  Survivor,
} from "../environment.ts";
import {
  type Channel,
  type ChannelCommand,
  type ChannelEnd,
  openChannel,
  type Transport,
} from "./channel.ts";
import { createChannelPool } from "./channel-pool.ts";
import { endTree, type KillAs } from "./end-tree.ts";
import type { StartedProcess } from "./process-table.ts";
import { printfFormat, quoteWord } from "./quote.ts";
import { restoreShell, saveShell } from "./saved-shell.ts";
import { differenceText, parseShellState, type ShellState } from "./shell-state.ts";

/** What an environment must tell the shared shell code about its place. */
export interface Place {
  /**
   * Makes sure that the place is there and says how to start a shell in it; asked before each new channel. `anew` means
   * that the last answer did not work, so that nothing remembered may be trusted.
   */
  transport(anew: boolean, signal: AbortSignal): Promise<Transport>;
  /** Where commands start when neither the session nor the request says. */
  readonly cwd: string;
  /** Whether a shell can be started without creating the place, replacing it or connecting to it; absent means no. */
  readonly isThere?: (signal: AbortSignal) => Promise<boolean>;
  /** Ends processes of another user, which our shell may not signal. */
  readonly killAs?: KillAs;
  /** Variables that every command sees and no state keeps: values that must stay off disk and argv. */
  readonly variables?: () => Readonly<Record<string, string>>;
  /** Says what became of the place when a channel died under a command, e.g. that the container is gone. */
  readonly explainLoss?: (signal: AbortSignal) => Promise<string | undefined>;
  /** What a reader should know about the place since the last result, in sentences. */
  readonly takeNotices?: () => readonly string[];
}

interface Session extends ShellSession {
  cwd: string | undefined;
  previousCwd: string | undefined;
  state: ShellState | undefined;
  /** What the shell that left the state had found by itself. */
  base: ShellState | undefined;
  /** What it begins with, until a command has left a state. */
  readonly saved: SavedShell | undefined;
}

const INLINE_INPUT_BYTES = 32 * 1024;
const HEARTBEAT_MS = 2_000;
const LAST_WORDS_MS = 1_000;
const EXPLAIN_WITHIN_MS = 20_000;

/** Runs commands in a place over warm channels: everything that all environments have in common. */
export function createShell(place: Place): Environment {
  const pool = createChannelPool(async (signal) => {
    try {
      return await openChannel(await place.transport(false, signal), signal);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "channel-unopened") throw error;
      // No command was on its way yet, so looking for the place once more loses and repeats nothing.
      return openChannel(await place.transport(true, signal), signal);
    }
  });

  const told = (): readonly string[] => place.takeNotices?.() ?? [];

  async function run(request: CommandRequest, signal: AbortSignal): Promise<CommandResult> {
    if (request.command.includes("\0")) throw new TypeError("a command cannot contain a NUL byte");
    signal.throwIfAborted();
    const startedAt = performance.now();
    const session = request.session as Session;
    const mark = randomBytes(8).toString("hex");
    const channel = await pool.acquire(signal);
    const stream = streamOf(request.stdin);
    let guardian: Channel | undefined;
    let root: StartedProcess | undefined;
    const unguard = (): void => guardian?.guard("", undefined); // its pid may soon be somebody else's
    try {
      guardian = stream ? await pool.acquire(signal) : undefined;
      guardian?.guard(mark, undefined);
      const command = describe(request, session, channel, mark, (started) => {
        root = started;
        guardian?.guard(mark, started);
      });
      const end = stream ? channel.runWithInput(command, stream) : channel.run(command);
      const cut = await cutShort(end, channel, request.timeoutMs, signal);
      const durationMs = (): number => performance.now() - startedAt;
      if (cut === undefined) {
        const over = await end;
        if (over.kind === "exited") unguard();
        return conclude(over, session, channel.base, durationMs());
      }
      channel.dropOutput();
      const survivors = await endTree(guardian ?? channel, { root, mark, end, killAs: place.killAs });
      if (survivors?.length === 0) unguard();
      return {
        ...ending(cut),
        cwd: session.cwd,
        badWorkdir: false,
        survivors: survivors ?? [],
        notices: [...told(), ...notices(cut, survivors)],
        durationMs: durationMs(),
      };
    } finally {
      pool.release(channel);
      if (guardian) pool.release(guardian);
    }
  }

  function describe(
    request: CommandRequest,
    session: Session,
    channel: Channel,
    mark: string,
    onStart: (process: StartedProcess) => void,
  ): ChannelCommand {
    const variables = { ...place.variables?.(), ...request.variables };
    const own = Object.entries(variables).map(([name, value]) => `export ${name}=${quoteWord(value)}\n`);
    const state = session.state ?? (session.saved && restoreShell(channel.base, session.saved));
    const change = state ? differenceText(channel.base, state, session.previousCwd) : "";
    return {
      mark,
      mergeStderr: request.mergeStderr ?? false,
      drop: Object.keys(variables),
      cwd: request.workdir ?? session.cwd ?? place.cwd,
      setup: change + own.join(""),
      input: inlineInput(request.stdin),
      command: request.command,
      onOutput: request.onOutput,
      onStart,
    };
  }

  async function conclude(
    end: ChannelEnd,
    session: Session,
    base: ShellState,
    durationMs: number,
  ): Promise<CommandResult> {
    if (end.kind === "lost") {
      const cause = (await place.explainLoss?.(AbortSignal.timeout(EXPLAIN_WITHIN_MS))) ?? end.reason;
      const fate = end.started
        ? "It had started; what it did before is not undone"
        : "It may not have started";
      const sentence = `The shell that ran this command died: ${cause}. ${fate}, and it was not run again.`;
      return {
        ended: "lost",
        exitCode: 125,
        badWorkdir: false,
        cwd: session.cwd,
        survivors: [],
        notices: [...told(), sentence],
        durationMs,
      };
    }
    const state = end.state === undefined ? undefined : parseShellState(end.state);
    if (state) {
      if (session.cwd !== undefined && session.cwd !== state.cwd) session.previousCwd = session.cwd;
      session.cwd = state.cwd;
      session.state = state;
      session.base = base;
    }
    const { exitCode, badFolder } = end;
    return {
      ended: "exited",
      exitCode,
      badWorkdir: badFolder,
      cwd: session.cwd,
      survivors: [],
      notices: told(),
      durationMs,
    };
  }

  function openSession(saved?: SavedShell): Session {
    const session: Session = {
      cwd: saved?.cwd,
      previousCwd: saved?.previousCwd,
      state: undefined,
      base: undefined,
      saved,
      save(redact) {
        const { base, state, previousCwd } = session;
        if (state === undefined || base === undefined) return saved;
        return saveShell({ base, state, previousCwd, given: place.variables?.() ?? {} }, redact);
      },
    };
    return session;
  }

  return {
    openSession,
    run,
    async warm(signal) {
      if (await place.isThere?.(signal)) pool.release(await pool.acquire(signal));
    },
    get busy() {
      return pool.busy;
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

type Cut = "timed-out" | "stopped" | "silent";

/** Waits for the end; resolves to a reason when we have to end the command ourselves. */
async function cutShort(
  end: Promise<ChannelEnd>,
  channel: Channel,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Cut | undefined> {
  const over = new AbortController();
  const reasons = [
    end.then(() => undefined),
    new Promise<Cut>((resolve) => {
      const timer = startAwakeTimer(timeoutMs, () => resolve("timed-out"));
      over.signal.addEventListener("abort", () => timer[Symbol.dispose]());
    }),
    new Promise<Cut>((resolve) => {
      signal.addEventListener("abort", () => resolve("stopped"), { signal: over.signal });
      if (signal.aborted) resolve("stopped");
    }),
    silence(channel, over.signal),
  ];
  try {
    return await Promise.race(reasons);
  } finally {
    over.abort();
  }
}

/** Resolves when nothing waits for the command at the far end any more: it killed its own wrapper and would never end. */
async function silence(channel: Channel, signal: AbortSignal): Promise<Cut | undefined> {
  for (;;) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, HEARTBEAT_MS);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    if (signal.aborted) return undefined;
    using deadline = openDeadline(signal, HEARTBEAT_MS);
    if ((await channel.isAlive(deadline.signal)) !== false) continue;
    // Its last words may still be on the way; after a busy spell of ours they are read before the next turn.
    await new Promise((resolve) => setTimeout(() => setImmediate(resolve), LAST_WORDS_MS));
    return signal.aborted ? undefined : "silent";
  }
}

function ending(cut: Cut): Pick<CommandResult, "ended" | "exitCode"> {
  if (cut === "timed-out") return { ended: "timed-out", exitCode: 124 };
  return cut === "stopped" ? { ended: "stopped", exitCode: 130 } : { ended: "lost", exitCode: 125 };
}

function notices(cut: Cut, survivors: readonly Survivor[] | undefined): string[] {
  const found: string[] = [];
  if (cut === "silent") {
    found.push(
      "The command ended the process that waited for it, so its exit code is unknown. It was not run again.",
    );
  }
  if (survivors === undefined) {
    found.push(
      "The place did not answer any more, so it is not known whether the processes of the command have ended.",
    );
  } else if (survivors.length > 0) {
    const list = survivors.map(({ pid, user }) => (user === undefined ? `${pid}` : `${pid} (user ${user})`));
    found.push(`These processes of the command could not be ended: ${list.join(", ")}.`);
  }
  return found;
}

function inlineInput(stdin: CommandRequest["stdin"]): string {
  const bytes = bytesOf(stdin);
  return bytes !== undefined && bytes.length <= INLINE_INPUT_BYTES ? printfFormat(bytes) : "";
}

function streamOf(stdin: CommandRequest["stdin"]): AsyncIterable<Uint8Array> | undefined {
  const bytes = bytesOf(stdin);
  if (bytes === undefined) return stdin as AsyncIterable<Uint8Array> | undefined;
  return bytes.length <= INLINE_INPUT_BYTES ? undefined : once(bytes);
}

function bytesOf(stdin: CommandRequest["stdin"]): Uint8Array | undefined {
  if (typeof stdin === "string") return Buffer.from(stdin, "utf8");
  return stdin instanceof Uint8Array ? stdin : undefined;
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
