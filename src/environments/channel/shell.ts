import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { AppError, messageOf } from "../../lib/errors.ts";
import { openAwakeTimer } from "../../lib/time/awake-timer.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import { waitAtMost } from "../../lib/time/wait-at-most.ts";
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
import { openInputGuard } from "./input-guard.ts";
import type { StartedProcess } from "./process-table.ts";
import { printfFormat, quoteWord } from "./quote.ts";
import { restoreShell, type ShellToSave, saveShell } from "./saved-shell.ts";
import { formatStateDifference, parseShellState, type ShellState } from "./shell-state.ts";

/** What each kind of environment provides to the shared shell code. */
export interface ShellAdapter {
  /**
   * Ensures that the sandbox exists or the host is connected, and returns how to start a shell in it. Called before each
   * new channel. `refresh` means that the last transport failed, with `failure`, so cached information must not be used.
   */
  transport(refresh: boolean, signal: AbortSignal, failure?: AppError): Promise<Transport>;
  /** The start folder if neither the session nor the request names one. */
  readonly cwd: string;
  /** Whether a shell can be started without creating or replacing a sandbox or connecting to a host; absent means no. */
  readonly isReady?: (signal: AbortSignal) => Promise<boolean>;
  /** Kills processes of another user, which our shell may not signal. */
  readonly killAs?: KillAs;
  /** Whether the whole environment is paused, like a paused container; also adds a notice. */
  readonly isPaused?: (signal: AbortSignal) => Promise<boolean>;
  /** Variables that every command sees and that are never saved: their values must not reach disk or argv. */
  readonly variables?: () => Readonly<Record<string, string>>;
  /** Explains why a channel died during a command, for example that the container was removed. */
  readonly explainLoss?: (signal: AbortSignal) => Promise<string | undefined>;
  /** Returns the notices since the last result, as complete sentences. */
  readonly takeNotices?: () => readonly string[];
  /** Releases the sandbox. Called when the environment is disposed, after all shells have ended. */
  readonly release?: () => Promise<void>;
}

interface Session extends ShellSession {
  cwd: string | undefined;
  previousCwd: string | undefined;
  state: ShellState | undefined;
  /** The unparsed text of `state`. */
  dump: string | undefined;
  /** The initial state of the shell that produced `state`. */
  base: ShellState | undefined;
  /** The initial state of the session, until a command has produced a state. */
  readonly savedShell: SavedShell | undefined;
}

/** The abort reason after a command; a single instance, because an error with a stack for each command is expensive. */
const ENDED = new Error("the command has ended");
const INLINE_INPUT_BYTES = 32 * 1024;
const HEARTBEAT_MS = 2_000;
const LAST_OUTPUT_MS = 1_000;
const EXPLAIN_TIMEOUT_MS = 20_000;
const WARM_TIMEOUT_MS = 30_000;
const START_TIMEOUT_MS = 2_000;

/** Failures after which a channel is opened once more. */
const RETRIED: ReadonlySet<string> = new Set(["channel-unopened", "shell-init-slow"]);

/** Runs commands over warm channels: the code that all environments share. */
export function createShell(adapter: ShellAdapter): Environment {
  const pool = createChannelPool(async (signal, isSpare) => {
    try {
      return await openChannel(await adapter.transport(false, signal), signal);
    } catch (error) {
      // A refreshed transport may start or wake the sandbox, which a spare channel must not do.
      if (isSpare || !(error instanceof AppError) || !RETRIED.has(error.code)) throw error;
      // No command was sent yet, so a second attempt repeats nothing.
      return openChannel(await adapter.transport(true, signal, error), signal);
    }
  });

  let pairing: Promise<unknown> = Promise.resolve();
  let released: Promise<void> | undefined;
  const takeNotices = (): readonly string[] => adapter.takeNotices?.() ?? [];

  async function run(request: CommandRequest, signal: AbortSignal): Promise<CommandResult> {
    if (request.command.includes("\0")) throw new TypeError("a command cannot contain a NUL byte");
    signal.throwIfAborted();
    const startedAt = performance.now();
    const session = request.session as Session;
    const { mark = randomBytes(8).toString("hex") } = request;
    const { inline, stream } = splitInput(request.stdin);
    const { channel, guard } = stream
      ? await acquireGuarded(mark, signal)
      : { channel: await pool.acquire(signal), guard: undefined };
    const done = new AbortController();
    let root: StartedProcess | undefined;
    let markStarted = (): void => undefined;
    const started = new Promise<void>((resolve) => {
      markStarted = resolve;
    });
    let inputError: unknown;
    let failInput = (): void => undefined;
    const inputFailed = new Promise<Interruption>((resolve) => {
      failInput = () => resolve("input-failed");
    });
    try {
      const command = describe(request, session, channel, { mark, input: inline }, (process) => {
        root = process;
        guard?.onStart(process);
        markStarted();
      });
      const end =
        stream && guard
          ? channel.runWithInput(command, {
              chunks: stream,
              onHeld: guard.onHeld,
              // A failure means that the sandbox or the connection was lost; the command's channel reports that.
              onDelivered: () => void guard.complete(done.signal).catch(() => undefined),
              onFailed(error) {
                inputError = error;
                failInput();
              },
            })
          : channel.run(command);
      const isAlive = guard?.isAlive ?? ((within: AbortSignal) => channel.isAlive(undefined, within));
      const { timeoutMs, isDetached = () => false } = request;
      const interruption = await waitForInterruption(
        { end, inputFailed, isAlive, timeoutMs, isDetached },
        signal,
      );
      const sessionToUpdate = (): Session => (isDetached() ? { ...session } : session);
      const durationMs = (): number => performance.now() - startedAt;
      let result = interruption === undefined ? await end : undefined;
      if (result?.kind === "exited") guard?.release();
      if (result !== undefined && guard === undefined && request.command.includes("$$"))
        result = withSignal(result, await signalOf(channel, signal));
      // Without a guard the processes of a lost command cannot be reached; the driver ends them.
      if (result && (result.kind === "exited" || !guard))
        return conclude(result, sessionToUpdate(), channel.base, durationMs(), []);
      channel.dropOutput();
      if (root === undefined) await waitAtMost(START_TIMEOUT_MS, Promise.race([started, end])); // endTree needs the root process
      const { killAs, isPaused } = adapter;
      const survivors = await endTree(guard?.channel ?? channel, { root, mark, end, killAs, isPaused });
      if (survivors?.length === 0) guard?.release();
      if (interruption === undefined)
        return conclude(await end, sessionToUpdate(), channel.base, durationMs(), survivors ?? []);
      return {
        ...ENDINGS[interruption],
        cwd: session.cwd,
        badWorkdir: false,
        survivors,
        notices: [...takeNotices(), ...notices(interruption, inputError, survivors)],
        durationMs: durationMs(),
      };
    } finally {
      done.abort(ENDED);
      pool.release(channel);
      guard?.[Symbol.dispose]();
    }
  }

  /** Acquires pairs one at a time: commands that each hold one channel would deadlock waiting for a second. */
  function acquireGuarded(mark: string, signal: AbortSignal) {
    const pair = pairing.then(async () => {
      const guard = await openInputGuard(pool, mark, signal);
      try {
        return { channel: await pool.acquire(signal), guard };
      } catch (error) {
        guard[Symbol.dispose]();
        throw error;
      }
    });
    pairing = pair.catch(() => undefined);
    return pair;
  }

  function describe(
    request: CommandRequest,
    session: Session,
    channel: Channel,
    own: Pick<ChannelCommand, "mark" | "input">,
    onStart: (process: StartedProcess) => void,
  ): ChannelCommand {
    const variables = { ...adapter.variables?.(), ...request.variables };
    const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${quoteWord(value)}\n`);
    const state = session.state ?? (session.savedShell && restoreShell(channel.base, session.savedShell));
    const restore = state ? formatStateDifference(channel.base, state, session.previousCwd) : "";
    return {
      ...own,
      mergeStderr: request.mergeStderr ?? false,
      unsavedVariables: Object.keys(variables),
      cwd: request.workdir ?? session.cwd ?? adapter.cwd,
      setup: restore + exports.join(""),
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
    survivors: readonly Survivor[],
  ): Promise<CommandResult> {
    const result = { badWorkdir: false, survivors, durationMs };
    if (end.kind === "lost") {
      const cause = (await adapter.explainLoss?.(AbortSignal.timeout(EXPLAIN_TIMEOUT_MS))) ?? end.reason;
      const fate = end.started
        ? "It had started, so its effects up to then remain"
        : "It may not have started";
      const sentence = `The shell that ran this command died: ${cause}. ${fate}, and it was not run again.`;
      const notices = [...takeNotices(), sentence, ...survivorNotice(survivors)];
      return { ...result, ended: "lost", exitCode: 125, cwd: session.cwd, notices };
    }
    // Most commands do not change the state of the shell.
    const isSame = end.state !== undefined && end.state === session.dump;
    const state = isSame ? session.state : parseShellState(end.state ?? "");
    if (state) {
      session.dump = end.state;
      if (session.cwd !== undefined && session.cwd !== state.cwd) session.previousCwd = session.cwd;
      session.cwd = state.cwd;
      session.state = state;
      session.base = base;
    }
    const { exitCode, badFolder: badWorkdir } = end;
    const { cwd } = session;
    return { ...result, ended: "exited", exitCode, badWorkdir, cwd, notices: takeNotices() };
  }

  function openSession(savedShell?: SavedShell): Session {
    let last: (ShellToSave & { readonly result: SavedShell }) | undefined;
    const session: Session = {
      cwd: savedShell?.cwd,
      previousCwd: savedShell?.previousCwd,
      state: undefined,
      base: undefined,
      dump: undefined,
      savedShell,
      save(redact) {
        const { base, state, previousCwd } = session;
        if (state === undefined || base === undefined) return savedShell;
        const isKnown = last?.base === base && last.state === state && last.previousCwd === previousCwd;
        if (last === undefined || !isKnown) {
          const shell = { base, state, previousCwd, injectedVariables: adapter.variables?.() ?? {} };
          last = { ...shell, result: saveShell(shell, redact) };
        }
        return last.result;
      },
    };
    return session;
  }

  return {
    openSession,
    run,
    async warm(signal) {
      if (!(await adapter.isReady?.(signal))) return;
      // A complete command also warms up the code on both sides.
      const noop = { command: ":", session: openSession(), onOutput: () => undefined };
      await run({ ...noop, timeoutMs: WARM_TIMEOUT_MS }, signal);
    },
    get runningCommands() {
      return pool.busy;
    },
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      released ??= adapter.release?.(); // once, even if the environment is disposed twice
      await released;
    },
  };
}

/**
 * The exit code of a command that killed its own shell by `$$`. In bash `$$` is the channel's shell, from which the command
 * was forked: the command continues without that shell and seems to succeed. A dying shell does not answer requests.
 */
async function signalOf(channel: Channel, signal: AbortSignal): Promise<number | undefined> {
  using deadline = openDeadline(signal, HEARTBEAT_MS);
  if ((await channel.isAlive(undefined, deadline.signal)) !== undefined) return undefined;
  const { exitCode = 0 } = channel;
  return exitCode > 128 ? exitCode : undefined;
}

/** Exit codes after which the driver has ended its command too; after any other signal the whole sandbox may have died. */
const DRIVER_EXITS: readonly (number | undefined)[] = [129, 130, 143];

function withSignal(end: ChannelEnd, exitCode: number | undefined): ChannelEnd {
  if (exitCode === undefined) return end;
  if (end.kind === "exited") return { ...end, exitCode };
  if (!DRIVER_EXITS.includes(exitCode)) return end;
  return { kind: "exited", exitCode, state: undefined, badFolder: false };
}

type Interruption = keyof typeof ENDINGS;

interface WatchedCommand {
  readonly end: Promise<ChannelEnd>;
  readonly inputFailed: Promise<Interruption>;
  isAlive(signal: AbortSignal): Promise<boolean | undefined>;
  readonly timeoutMs: number;
  isDetached(): boolean;
}

/** Waits for the end of the command; resolves to a reason if we have to end the command ourselves. */
async function waitForInterruption(
  { end, inputFailed, isAlive, timeoutMs, isDetached }: WatchedCommand,
  signal: AbortSignal,
) {
  const done = new AbortController();
  const reasons = [
    end.then(() => undefined),
    inputFailed,
    new Promise<Interruption>((resolve) => {
      const timer = openAwakeTimer(timeoutMs, () => {
        if (!isDetached()) resolve("timed-out");
      });
      done.signal.addEventListener("abort", () => timer[Symbol.dispose]());
    }),
    new Promise<Interruption>((resolve) => {
      signal.addEventListener("abort", () => resolve("stopped"), { signal: done.signal });
      if (signal.aborted) resolve("stopped");
    }),
    waitForSilence(isAlive, done.signal),
  ];
  try {
    return await Promise.race(reasons);
  } finally {
    done.abort(ENDED);
  }
}

/** Resolves when the command has killed its wrapper, so that the end of the command would never be reported. */
async function waitForSilence(isAlive: WatchedCommand["isAlive"], signal: AbortSignal) {
  let timer: NodeJS.Timeout | undefined;
  let wake = (): void => undefined;
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    wake();
  });
  for (;;) {
    await new Promise<void>((resolve) => {
      wake = resolve;
      timer = setTimeout(resolve, HEARTBEAT_MS);
    });
    if (signal.aborted) return undefined;
    using deadline = openDeadline(signal, HEARTBEAT_MS);
    // A failed request does not mean that the command has ended.
    if ((await isAlive(deadline.signal).catch(() => undefined)) !== false) continue;
    // The last output may still be in transit; if the event loop was blocked, it is read before setImmediate fires.
    await new Promise((resolve) => setTimeout(() => setImmediate(resolve), LAST_OUTPUT_MS));
    return signal.aborted ? undefined : "silent";
  }
}

const ENDINGS = {
  "timed-out": { ended: "timed-out", exitCode: 124 },
  stopped: { ended: "stopped", exitCode: 130 },
  silent: { ended: "lost", exitCode: 125 },
  "input-failed": { ended: "lost", exitCode: 125 },
} as const;

function notices(
  interruption: Interruption,
  inputError: unknown,
  survivors: readonly Survivor[] | undefined,
): string[] {
  const why = {
    silent: [
      "The command killed the process that waited for it, so its exit code is unknown. It was not run again.",
    ],
    "input-failed": [`Reading the input failed (${messageOf(inputError)}), so the command was ended.`],
    "timed-out": [],
    stopped: [],
  }[interruption];
  const unknown =
    "The environment stopped answering, so it is unknown whether the processes of the command have ended.";
  return [...why, ...(survivors === undefined ? [unknown] : survivorNotice(survivors))];
}

function survivorNotice(survivors: readonly Survivor[]): string[] {
  if (survivors.length === 0) return [];
  const list = survivors.map(({ pid, user }) => (user === undefined ? `${pid}` : `${pid} (user ${user})`));
  return [`These processes of the command could not be ended: ${list.join(", ")}.`];
}

/** A small input becomes part of the command; a larger one is streamed. */
function splitInput(stdin: CommandRequest["stdin"]): {
  readonly inline: string;
  readonly stream: AsyncIterable<Uint8Array> | undefined;
} {
  const bytes = typeof stdin === "string" ? Buffer.from(stdin) : stdin;
  if (!(bytes instanceof Uint8Array)) return { inline: "", stream: bytes };
  if (bytes.length <= INLINE_INPUT_BYTES) return { inline: printfFormat(bytes), stream: undefined };
  return { inline: "", stream: Readable.from([bytes], { objectMode: true }) };
}
