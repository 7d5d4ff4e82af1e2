import { randomBytes } from "node:crypto";
import { AppError } from "../../lib/errors.ts";
import { endProcessGroup } from "../../lib/process/process-group.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import type { OutputStream } from "../environment.ts";
import { driverProgram, prepareSnippet, type RunFields, runSnippet } from "./driver.ts";
import { createFrameParser, type FrameParser } from "./frame-parser.ts";
import { type ProcessRow, parseProcessRow, type StartedProcess } from "./process-table.ts";
import { parseShellState, type ShellState } from "./shell-state.ts";
import { type RunningShell, type ShellCommand, startShell } from "./start-shell.ts";

/** How to start a shell in the environment: the only part of a channel that depends on the kind of environment. */
export interface Transport extends ShellCommand {
  /** A shell that was started early and waits for its first line. */
  readonly startedShell?: RunningShell | undefined;
  /** A snippet that runs once before the first command, for example to source init files. Its output is dropped. */
  readonly prelude?: string;
  /** How long the prelude may take. */
  readonly preludeMs?: number | undefined;
}

/** A command for a channel. */
export interface ChannelCommand extends Omit<RunFields, "token" | "stateToken"> {
  /** Receives each chunk as it arrives. A returned promise pauses reading until it settles. */
  onOutput(stream: OutputStream, bytes: Uint8Array): void | Promise<void>;
  /** Called with the command's process as soon as it runs. */
  onStart(process: StartedProcess): void;
}

/** A byte stream for a command. The command sees end-of-file only after a second channel has called `completeInput`. */
export interface ChannelInput {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Called with the process that keeps the command's input open in the environment. */
  onHeld(holder: StartedProcess): void;
  /** The whole input has arrived in the environment. */
  onDelivered(): void;
  onFailed(error: unknown): void;
}

/** How a command ended, as seen by the channel. */
export type ChannelEnd =
  | {
      readonly kind: "exited";
      readonly exitCode: number;
      readonly state: string | undefined;
      readonly badFolder: boolean;
    }
  | { readonly kind: "lost"; readonly started: boolean; readonly reason: string };

/** A warm shell in an environment that runs one command at a time. */
export type Channel = Omit<ReturnType<typeof createChannel>, "greet">;

const OPEN_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 2_000;
const INIT_GRACE_MS = 5_000;
/** A transport whose output a leftover process has open does not end by itself. */
const CLOSE_LEAKED_TIMEOUT_MS = 200;

/** Starts a shell and sends it the driver; rejects with the transport's error message on failure. */
export async function openChannel(transport: Transport, signal: AbortSignal): Promise<Channel> {
  signal.throwIfAborted();
  const channel = createChannel(transport.startedShell ?? startShell(transport), transport.argv[0]);
  const { prelude = "", preludeMs = OPEN_TIMEOUT_MS } = transport;
  const openMs = prelude === "" ? OPEN_TIMEOUT_MS : preludeMs;
  using deadline = openDeadline(signal, openMs);
  try {
    await channel.greet(prelude, deadline.signal);
  } catch (error) {
    await channel[Symbol.asyncDispose]();
    if (!deadline.isOver) throw error;
    const seconds = `${openMs / 1_000} s`;
    if (prelude !== "")
      throw new AppError("shell-init-slow", `The shell's init files took longer than ${seconds}.`, {
        cause: error,
      });
    throw new AppError("channel-unopened", `No shell answered within ${seconds}.`, { cause: error });
  }
  return channel;
}

interface RunningCommand {
  readonly token: string;
  readonly command: ChannelCommand;
  readonly input: Pick<ChannelInput, "onHeld" | "onDelivered"> | undefined;
  readonly resolve: (end: ChannelEnd) => void;
  started: boolean;
  badFolder: boolean;
  exitCode: number | undefined;
  state: string | undefined;
  streamsOpen: number;
}

function createChannel(child: RunningShell, program: string) {
  const prefix = randomBytes(8).toString("hex");
  const newToken = (): string => prefix + randomBytes(8).toString("hex");
  let shell: "bash" | "sh" = "sh";
  let base: ShellState = { cwd: "/", exports: new Map(), definitions: "" };
  let death: string | undefined;
  let isGreeted = false;
  let isOutputLeaked = false;
  let spent = false; // the driver has given its input to a command and reads no more snippets
  let dropping = false;
  let running: RunningCommand | undefined;
  let prepared: string | undefined; // the token of the next command, whose shell was forked in advance
  let errorText = "";
  let free = true; // false from the start of a command until none of its processes can print
  let settle: (() => void) | undefined;
  let settled: Promise<void> = Promise.resolve();
  const requests = new Map<string, (letter: string, fields: string) => void>();

  const ended = new Promise<void>((resolve) => {
    const die = (reason: string): void => {
      if (death !== undefined) return;
      death = reason;
      if (running) finish({ kind: "lost", started: running.started, reason });
      settle?.();
      for (const answer of requests.values()) answer("!", "");
      resolve();
    };
    child.once("error", (error) => die(`${program} could not be started: ${error.message}`));
    const exit = (code: number | null, signal: string | null): void =>
      die(`${program} ended with ${signal ?? `exit code ${code}`}`);
    child.once("close", exit);
    // After the shell has exited, a leftover process may keep the pipes open: do not wait for `close`. If the event loop
    // was blocked, the last output is still unread; it is read before setImmediate fires.
    child.once("exit", (code, signal) => {
      setTimeout(() => setImmediate(exit, code, signal), 500).unref();
    });
    child.stdin.on("error", () => undefined); // the exit event reports the failure
  });

  const finish = (end: ChannelEnd): void => {
    const command = running;
    running = undefined;
    command?.resolve(end);
  };
  const finishWhenDone = (command: RunningCommand): void => {
    if (command.exitCode === undefined || command.streamsOpen > 0) return;
    const { exitCode, state, badFolder } = command;
    finish({ kind: "exited", exitCode, state, badFolder });
  };

  const onAnswer = (stream: OutputStream, token: string, letter: string, fields: string): void => {
    const request = requests.get(token);
    if (request) {
      request(letter, fields);
      return;
    }
    if (letter === "C" && stream === "stdout") {
      isOutputLeaked = fields !== "0";
      free = true;
      settle?.();
      return;
    }
    if (running === undefined || running.token !== token) return;
    if (letter === "S") {
      running.started = true;
      running.command.onStart(parseStarted(fields));
    } else if (letter === "I") {
      running.input?.onHeld(parseStarted(fields));
    } else if (letter === "D") {
      running.input?.onDelivered();
    } else if (letter === "B") {
      running.badFolder = true;
    } else if (letter === "X") {
      if (stream === "stdout") running.exitCode = Number(fields);
      running.streamsOpen--;
      finishWhenDone(running);
    }
  };

  const parsers = { stdout: listen("stdout"), stderr: listen("stderr") };

  function listen(stream: OutputStream): FrameParser {
    let pending: Promise<void>[] = [];
    const parser = createFrameParser(prefix, {
      output(bytes) {
        if (running === undefined || dropping) {
          if (stream === "stderr" && errorText.length < 4_096)
            errorText += Buffer.from(bytes).toString("utf8");
          return;
        }
        const taken = running.command.onOutput(stream, bytes);
        if (taken) pending.push(taken);
      },
      answer: (token, letter, fields) => onAnswer(stream, token, letter, fields),
      state(_, text) {
        if (running) running.state = text;
        else base = parseShellState(text ?? "") ?? base;
      },
    });
    child[stream].on("data", (chunk: Buffer) => {
      parser.push(chunk);
      if (pending.length === 0 || dropping) return;
      const taken = Promise.allSettled(pending);
      pending = [];
      child[stream].pause();
      void taken.then(() => child[stream].resume());
    });
    return parser;
  }

  const expectAnswers = (token: string, stateToken: string): void => {
    parsers.stdout.expect(token, "answers");
    parsers.stderr.expect(token, "answers");
    parsers.stdout.expect(stateToken, "state");
  };
  const send = (snippet: string): void => void child.stdin.write(snippet);

  /** Sends a verb and collects its answers; undefined if the channel died or `signal` aborted. */
  function query(verb: string, words: string, signal: AbortSignal): Promise<string[] | undefined> {
    const token = newToken();
    const found: string[] = [];
    return new Promise((resolve) => {
      const settleQuery = (result: string[] | undefined): void => {
        requests.delete(token);
        parsers.stdout.forget(token);
        signal.removeEventListener("abort", giveUp);
        resolve(result);
      };
      // Keep the token until a late answer has arrived, so that the answer is not treated as output.
      const giveUp = (): void => resolve(undefined);
      if (death !== undefined || signal.aborted) return settleQuery(undefined);
      signal.addEventListener("abort", giveUp);
      requests.set(token, (letter, fields) => {
        if (letter === ".") settleQuery(found);
        else if (letter === "!") settleQuery(undefined);
        else found.push(letter + fields);
      });
      parsers.stdout.expect(token, "answers");
      send(`${verb} ${token} ${words}\n`);
    });
  }

  function start(command: ChannelCommand, input: RunningCommand["input"]): Promise<ChannelEnd> {
    if (death !== undefined) return Promise.resolve({ kind: "lost", started: false, reason: death });
    if (running !== undefined) throw new Error("a channel runs one command at a time");
    const token = prepared ?? newToken();
    const isPrepared = prepared !== undefined && command.input === "";
    prepared = undefined;
    const stateToken = newToken();
    expectAnswers(token, stateToken);
    errorText = "";
    dropping = false;
    free = false;
    settled = new Promise((resolve) => {
      settle = resolve;
    });
    return new Promise((resolve) => {
      const cleanUp = (end: ChannelEnd): void => {
        parsers.stderr.forget(token);
        parsers.stdout.forget(stateToken);
        void settled.then(() => parsers.stdout.forget(token));
        resolve(end);
      };
      running = {
        token,
        command,
        input,
        resolve: cleanUp,
        started: false,
        badFolder: false,
        exitCode: undefined,
        state: undefined,
        streamsOpen: 2,
      };
      if (shell === "bash" && !isPrepared && input === undefined) send(prepareSnippet(token, command.input));
      send(runSnippet(shell, input !== undefined, { ...command, token, stateToken }));
    });
  }

  const isUsable = (): boolean => death === undefined && !isOutputLeaked && !spent && free;
  return {
    get shell() {
      return shell;
    },
    /** False if the shell is busy or spent, if it has exited, or if a leftover process of an earlier command holds its output. */
    get isUsable() {
      return isUsable();
    },
    /** A leftover process of an earlier command still has the output open. */
    get isOutputLeaked() {
      return death === undefined && isOutputLeaked;
    },
    /** The channel's input was given to a command, so no other command can follow. */
    get isSpent() {
      return spent;
    },
    /** The shell's exit code once it has exited; more than 128 if a signal ended it. */
    get exitCode() {
      return child.exitCode ?? undefined;
    },
    /** The initial state of the shell, which a command of a new session gets. */
    get base() {
      return base;
    },
    async greet(prelude: string, signal: AbortSignal): Promise<void> {
      const token = newToken();
      const greeting = new Promise<string | undefined>((resolve) => {
        let name: string | undefined;
        let isQuiet = false;
        requests.set(token, (letter, fields) => {
          if (letter === "H") name = fields;
          else if (letter === "E") isQuiet = true;
          else return resolve(undefined);
          if (name !== undefined && isQuiet) resolve(name);
        });
        signal.addEventListener("abort", () => resolve(undefined), { once: true });
      });
      const stateToken = newToken();
      expectAnswers(token, stateToken);
      send(driverProgram(token, stateToken, prelude));
      const answer = await greeting;
      requests.delete(token);
      parsers.stdout.forget(token);
      parsers.stderr.forget(token);
      parsers.stdout.forget(stateToken);
      signal.throwIfAborted();
      if (answer === undefined) {
        const lastLine = errorText.trim().split("\n").at(-1);
        throw new AppError("channel-unopened", `No shell could be started: ${lastLine || death}.`);
      }
      isGreeted = true;
      shell = answer === "bash" ? "bash" : "sh";
    },
    /** Forks the shell of the next command in advance, for a channel that waits for one. */
    prepare(): void {
      if (shell !== "bash" || prepared !== undefined || !isUsable()) return;
      prepared = newToken();
      send(prepareSnippet(prepared, ""));
    },
    /** Resolves when the command has ended or the channel has died; never rejects. */
    run: (command: ChannelCommand) => start(command, undefined),
    /** Like `run`, with a byte stream as the command's input; the channel cannot be used again. */
    async runWithInput(command: ChannelCommand, input: ChannelInput): Promise<ChannelEnd> {
      let isComplete = false;
      // Some shells read ahead: send the input only after the driver is ready to pass it on.
      let open = (): void => undefined;
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      const end = start(command, {
        onHeld(holder) {
          input.onHeld(holder);
          open();
        },
        // Without this check a broken transport would count as the end of the input.
        onDelivered() {
          if (isComplete) input.onDelivered();
        },
      });
      spent = true;
      await Promise.race([opened, end]);
      sendChunks(child.stdin, input.chunks, end).then((isWhole) => {
        isComplete = isWhole;
        child.stdin.end();
      }, input.onFailed);
      return end;
    },
    /** Lets a command of another channel see end-of-file; undefined if the driver did not answer. */
    async completeInput(holder: StartedProcess, signal: AbortSignal): Promise<boolean | undefined> {
      const answers = await query("E", `${holder.pid} ${holder.startTime}`, signal);
      return answers && answers.length > 0;
    },
    /** Resolves when the channel can run a command again or is unusable. */
    settled: () => settled,
    /** The process table of the environment; undefined if the driver did not answer. */
    async processes(mark: string, signal: AbortSignal): Promise<ProcessRow[] | undefined> {
      const rows = await query("P", mark, signal);
      return rows?.flatMap((row) => (row.startsWith("p") ? (parseProcessRow(row.slice(1)) ?? []) : []));
    },
    /** Stops all processes before it signals them: none may see another die and continue as if it had finished. */
    kill(signal: "TERM" | "KILL", pids: readonly number[]): void {
      if (pids.length === 0) return;
      const list = pids.join(" ");
      const each = ["STOP", signal, "CONT"].map((name) => `kill -${name} ${list} 2>/dev/null`);
      send(`${each.join("; ")}\n`);
    },
    /** Makes the driver end that command if our process exits; an empty mark cancels this. */
    guard(mark: string, process: StartedProcess | undefined): void {
      send(`G '${mark}' '${process?.pid ?? ""}' '${process?.startTime ?? ""}'\n`);
    },
    /** Reads and drops all further output, so that ending a command does not wait for its output. */
    dropOutput(): void {
      dropping = true;
      child.stdout.resume();
      child.stderr.resume();
    },
    /**
     * Whether the wrapper of the running command is alive, or the given process of another channel; undefined if the
     * driver did not answer.
     */
    async isAlive(process: StartedProcess | undefined, signal: AbortSignal): Promise<boolean | undefined> {
      const answers = await query("V", process ? `${process.pid} ${process.startTime}` : "", signal);
      return answers && answers.length > 0;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      if (isGreeted && isUsable() && child.detach) {
        await child.detach().catch(() => undefined); // fails if the shell has already exited
        return;
      }
      child.stdin.end();
      // The shell has run no command yet: do not wait for slow init files, but let their programs remove their lock files.
      if (!isGreeted && death === undefined) {
        if (child.pid === undefined) child.kill("SIGKILL");
        else await endProcessGroup(child.pid, INIT_GRACE_MS);
      }
      const timer = setTimeout(
        () => child.kill("SIGKILL"),
        isOutputLeaked ? CLOSE_LEAKED_TIMEOUT_MS : CLOSE_TIMEOUT_MS,
      );
      await ended;
      clearTimeout(timer);
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

/** Resolves to whether the whole input was sent; the command may end before that. */
async function sendChunks(
  stdin: NodeJS.WritableStream,
  chunks: AsyncIterable<Uint8Array>,
  end: Promise<unknown>,
) {
  const iterator = chunks[Symbol.asyncIterator]();
  // Promise.race of each chunk against `end` would keep all chunks in memory until `end`.
  let hasEnded = false;
  let wake: (() => void) | undefined;
  const onDrain = (): void => wake?.();
  void end.then(() => {
    hasEnded = true;
    wake?.();
  });
  stdin.on("drain", onDrain);
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<Uint8Array> | undefined>((resolve, reject) => {
        wake = () => {
          if (hasEnded) resolve(undefined);
        };
        wake();
        iterator.next().then(resolve, reject);
      });
      if (next === undefined || next.done) return next !== undefined;
      if (stdin.write(next.value)) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (hasEnded) resolve();
      });
    }
  } finally {
    stdin.off("drain", onDrain);
    void Promise.resolve(iterator.return?.()).catch(() => undefined); // not awaited, because it may hang or fail
  }
}

function parseStarted(fields: string): StartedProcess {
  const [pid, startTime = ""] = fields.split(" ");
  return { pid: Number(pid), startTime };
}
