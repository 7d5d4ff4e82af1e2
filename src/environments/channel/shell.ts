import { randomBytes } from "node:crypto";
import { startAwakeTimer } from "../../lib/awake-timer.ts";
import { openDeadline } from "../../lib/deadline.ts";
import { AppError } from "../../lib/errors.ts";
import { waitAtMost } from "../../lib/wait-at-most.ts";
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
import { type InputGuard, openInputGuard } from "./input-guard.ts";
import type { StartedProcess } from "./process-table.ts";
import { printfFormat, quoteWord } from "./quote.ts";
import { restoreShell, type ShellToSave, saveShell } from "./saved-shell.ts";
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
  /** Whether the whole place stands still, as a paused container does; a notice says so. */
  readonly isHalted?: (signal: AbortSignal) => Promise<boolean>;
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
  /** The text that the state was read from. */
  dump: string | undefined;
  /** What the shell that left the state had found by itself. */
  base: ShellState | undefined;
  /** What it begins with, until a command has left a state. */
  readonly saved: SavedShell | undefined;
}

const INLINE_INPUT_BYTES = 32 * 1024;
const HEARTBEAT_MS = 2_000;
const LAST_WORDS_MS = 1_000;
const EXPLAIN_WITHIN_MS = 20_000;
const WARM_WITHIN_MS = 30_000;
const START_WITHIN_MS = 2_000;

/** Runs commands in a place over warm channels: everything that all environments have in common. */
export function createShell(place: Place): Environment {
  const pool = createChannelPool(async (signal, isSpare) => {
    try {
      return await openChannel(await place.transport(false, signal), signal);
    } catch (error) {
      // To look for a place anew may start or wake it, which is not for a spare channel to decide.
      if (isSpare || !(error instanceof AppError) || error.code !== "channel-unopened") throw error;
      // No command was on its way yet, so looking for the place once more loses and repeats nothing.
      return openChannel(await place.transport(true, signal), signal);
    }
  });

  let pairing: Promise<unknown> = Promise.resolve();
  const told = (): readonly string[] => place.takeNotices?.() ?? [];

  async function run(request: CommandRequest, signal: AbortSignal): Promise<CommandResult> {
    if (request.command.includes("\0")) throw new TypeError("a command cannot contain a NUL byte");
    signal.throwIfAborted();
    const startedAt = performance.now();
    const session = request.session as Session;
    const { mark = randomBytes(8).toString("hex") } = request;
    const stream = streamOf(request.stdin);
    const { channel, guard } = stream
      ? await acquireGuarded(mark, signal)
      : { channel: await pool.acquire(signal), guard: undefined };
    const over = new AbortController();
    let root: StartedProcess | undefined;
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    let inputError: unknown;
    let failInput = (): void => undefined;
    const inputFailed = new Promise<Cut>((resolve) => {
      failInput = () => resolve("input-failed");
    });
    try {
      const command = describe(request, session, channel, mark, (started) => {
        root = started;
        guard?.onStart(started);
        begin();
      });
      const end =
        stream && guard
          ? channel.runWithInput(command, {
              chunks: stream,
              onHeld: guard.onHeld,
              // It fails when the place is gone; then the command's own channel ends, and that is reported.
              onDelivered: () => void guard.complete(over.signal).catch(() => undefined),
              onFailed(error) {
                inputError = error;
                failInput();
              },
            })
          : channel.run(command);
      const isAlive = guard?.isAlive ?? ((within: AbortSignal) => channel.isAlive(undefined, within));
      const cut = await cutShort({ end, inputFailed, isAlive, timeoutMs: request.timeoutMs }, signal);
      const durationMs = (): number => performance.now() - startedAt;
      let result = cut === undefined ? await end : undefined;
      if (result?.kind === "exited") guard?.release();
      if (result !== undefined && guard === undefined && request.command.includes("$$"))
        result = withSignal(result, await signalOf(channel, signal));
      // Without a guard nothing is left to reach the tree of a lost command with; the driver ends it when it notices.
      if (result && (result.kind === "exited" || !guard))
        return conclude(result, session, channel.base, durationMs(), []);
      channel.dropOutput();
      if (root === undefined) await waitAtMost(START_WITHIN_MS, Promise.race([begun, end])); // only a started tree can be found
      const { killAs, isHalted } = place;
      const survivors = await endTree(guard?.channel ?? channel, { root, mark, end, killAs, isHalted });
      if (survivors?.length === 0) guard?.release();
      if (cut === undefined) return conclude(await end, session, channel.base, durationMs(), survivors ?? []);
      return {
        ...ending(cut),
        cwd: session.cwd,
        badWorkdir: false,
        survivors: survivors ?? [],
        notices: [...told(), ...notices(cut, inputError, survivors)],
        durationMs: durationMs(),
      };
    } finally {
      over.abort();
      pool.release(channel);
      guard?.[Symbol.dispose]();
    }
  }

  /** Commands take their pairs in turn: eight that each held one channel would wait for a second one for ever. */
  function acquireGuarded(
    mark: string,
    signal: AbortSignal,
  ): Promise<{ channel: Channel; guard: InputGuard }> {
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
    survivors: readonly Survivor[],
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
        survivors,
        notices: [...told(), sentence, ...survivorNotice(survivors)],
        durationMs,
      };
    }
    // Most commands leave the shell as they found it.
    const isSame = end.state !== undefined && end.state === session.dump;
    const state = isSame ? session.state : parseShellState(end.state ?? "");
    if (state) {
      session.dump = end.state;
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
      survivors,
      notices: told(),
      durationMs,
    };
  }

  function openSession(saved?: SavedShell): Session {
    let last: (ShellToSave & { readonly result: SavedShell }) | undefined;
    const session: Session = {
      cwd: saved?.cwd,
      previousCwd: saved?.previousCwd,
      state: undefined,
      base: undefined,
      dump: undefined,
      saved,
      save(redact) {
        const { base, state, previousCwd } = session;
        if (state === undefined || base === undefined) return saved;
        const isKnown = last?.base === base && last.state === state && last.previousCwd === previousCwd;
        if (last === undefined || !isKnown) {
          const shell = { base, state, previousCwd, given: place.variables?.() ?? {} };
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
      if (!(await place.isThere?.(signal))) return;
      // A whole command, so that the code of both sides has run once too.
      const nothing = { command: ":", session: openSession(), onOutput: () => undefined };
      await run({ ...nothing, timeoutMs: WARM_WITHIN_MS }, signal);
    },
    get busy() {
      return pool.busy;
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/**
 * The code of a command that killed its own shell by `$$`. In bash that is the channel's, from which the command was forked: it
 * goes on without it, to an end that looks like success. A dying shell answers no question, whenever it was hit.
 */
async function signalOf(channel: Channel, signal: AbortSignal): Promise<number | undefined> {
  using deadline = openDeadline(signal, HEARTBEAT_MS);
  if ((await channel.isAlive(undefined, deadline.signal)) !== undefined) return undefined;
  const { exitCode = 0 } = channel;
  return exitCode > 128 ? exitCode : undefined;
}

/** The driver says of these that it ended the command with itself; a shell that died of another may have died with its place. */
const DRIVER_EXITS: readonly (number | undefined)[] = [129, 130, 143];

function withSignal(end: ChannelEnd, exitCode: number | undefined): ChannelEnd {
  if (exitCode === undefined) return end;
  if (end.kind === "exited") return { ...end, exitCode };
  if (!DRIVER_EXITS.includes(exitCode)) return end;
  return { kind: "exited", exitCode, state: undefined, badFolder: false };
}

type Cut = "timed-out" | "stopped" | "silent" | "input-failed";

interface Watched {
  readonly end: Promise<ChannelEnd>;
  readonly inputFailed: Promise<Cut>;
  isAlive(signal: AbortSignal): Promise<boolean | undefined>;
  readonly timeoutMs: number;
}

/** Waits for the end; resolves to a reason when we have to end the command ourselves. */
async function cutShort(
  { end, inputFailed, isAlive, timeoutMs }: Watched,
  signal: AbortSignal,
): Promise<Cut | undefined> {
  const over = new AbortController();
  const reasons = [
    end.then(() => undefined),
    inputFailed,
    new Promise<Cut>((resolve) => {
      const timer = startAwakeTimer(timeoutMs, () => resolve("timed-out"));
      over.signal.addEventListener("abort", () => timer[Symbol.dispose]());
    }),
    new Promise<Cut>((resolve) => {
      signal.addEventListener("abort", () => resolve("stopped"), { signal: over.signal });
      if (signal.aborted) resolve("stopped");
    }),
    silence(isAlive, over.signal),
  ];
  try {
    return await Promise.race(reasons);
  } finally {
    over.abort();
  }
}

/** Resolves when nothing waits for the command at the far end any more: it killed its own wrapper and would never end. */
async function silence(isAlive: Watched["isAlive"], signal: AbortSignal): Promise<Cut | undefined> {
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
    // A question that cannot be asked says nothing about the command.
    if ((await isAlive(deadline.signal).catch(() => undefined)) !== false) continue;
    // Its last words may still be on the way; after a busy spell of ours they are read before the next turn.
    await new Promise((resolve) => setTimeout(() => setImmediate(resolve), LAST_WORDS_MS));
    return signal.aborted ? undefined : "silent";
  }
}

function ending(cut: Cut): Pick<CommandResult, "ended" | "exitCode"> {
  if (cut === "timed-out") return { ended: "timed-out", exitCode: 124 };
  return cut === "stopped" ? { ended: "stopped", exitCode: 130 } : { ended: "lost", exitCode: 125 };
}

function notices(cut: Cut, inputError: unknown, survivors: readonly Survivor[] | undefined): string[] {
  const found: string[] = [];
  if (cut === "silent") {
    found.push(
      "The command ended the process that waited for it, so its exit code is unknown. It was not run again.",
    );
  }
  if (cut === "input-failed") {
    const reason = inputError instanceof Error ? inputError.message : String(inputError);
    found.push(`The input could not be read to its end (${reason}), so the command was ended.`);
  }
  if (survivors === undefined) {
    found.push(
      "The place did not answer any more, so it is not known whether the processes of the command have ended.",
    );
    return found;
  }
  return [...found, ...survivorNotice(survivors)];
}

function survivorNotice(survivors: readonly Survivor[]): string[] {
  if (survivors.length === 0) return [];
  const list = survivors.map(({ pid, user }) => (user === undefined ? `${pid}` : `${pid} (user ${user})`));
  return [`These processes of the command could not be ended: ${list.join(", ")}.`];
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
