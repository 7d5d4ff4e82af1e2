import { randomBytes } from "node:crypto";
import { openDeadline } from "../../lib/deadline.ts";
import { AppError } from "../../lib/errors.ts";
import { endProcessGroup } from "../../lib/process-group.ts";
import type { OutputStream } from "../environment.ts";
import { driverProgram, type RunFields, runSnippet } from "./driver.ts";
import { createFrameParser, type FrameParser } from "./frame-parser.ts";
import { type ProcessRow, parseProcessRow, type StartedProcess } from "./process-table.ts";
import { parseShellState, type ShellState } from "./shell-state.ts";
import { type RunningShell, type ShellCommand, startShell } from "./start-shell.ts";

/** How to start a shell in the place: the one thing of a channel that differs between environments. */
export interface Transport extends ShellCommand {
  /** That very shell, if it has already been started and waits for its first line. */
  readonly started?: RunningShell | undefined;
  /** Snippet run once before the first command: init files, variables. Its output is dropped. */
  readonly prelude?: string;
}

/** A command on its way down the channel. */
export interface ChannelCommand extends Omit<RunFields, "token" | "stateToken"> {
  /** Gets each chunk as it comes; while it returns a promise nothing more is read. */
  onOutput(stream: OutputStream, bytes: Uint8Array): void | Promise<void>;
  /** The process of the command at the far end, as soon as it runs. */
  onStart(process: StartedProcess): void;
}

/** A stream of bytes for a command. The command sees its end only once a second channel has called `completeInput`. */
export interface ChannelInput {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The process at the far end that keeps the command from seeing the end of its input. */
  onHeld(holder: StartedProcess): void;
  /** The whole input has arrived at the far end. */
  onDelivered(): void;
  /** The chunks could not be read to their end. */
  onFailed(error: unknown): void;
}

/** How a command ended, as far as the channel knows. */
export type ChannelEnd =
  | {
      readonly kind: "exited";
      readonly exitCode: number;
      readonly state: string | undefined;
      readonly badFolder: boolean;
    }
  | { readonly kind: "lost"; readonly started: boolean; readonly reason: string };

/** A warm shell in some place, for one command at a time. */
export interface Channel extends AsyncDisposable {
  readonly shell: "bash" | "sh";
  /** False once it is dead or its output is still held by a process that an earlier command left behind. */
  readonly usable: boolean;
  /** A process that an earlier command left behind still has its output open. */
  readonly isHeld: boolean;
  /** Its input went to a command, so no other can follow. */
  readonly isSpent: boolean;
  /** What the shell ended with, once it has: more than 128 when a signal ended it. */
  readonly exitCode: number | undefined;
  /** What a command finds that brings no state along. */
  readonly base: ShellState;
  /** Resolves when the command has ended or the channel has died; never rejects. */
  run(command: ChannelCommand): Promise<ChannelEnd>;
  /** Like `run`, with a stream of bytes as the command's input; the channel is used up by it. */
  runWithInput(command: ChannelCommand, input: ChannelInput): Promise<ChannelEnd>;
  /** Lets a command of another channel see the end of its input; undefined when no answer came. */
  completeInput(holder: StartedProcess, signal: AbortSignal): Promise<boolean | undefined>;
  /** Resolves when the channel can take a command again, or never will. */
  settled(): Promise<void>;
  /** The process table of the place; undefined when no answer came. */
  processes(mark: string, signal: AbortSignal): Promise<ProcessRow[] | undefined>;
  /** All are halted until all have their signal: one that sees another die must not go on as if that had done its work. */
  kill(signal: "TERM" | "KILL", pids: readonly number[]): void;
  /** Asks the driver to end that command when our process is gone; an empty mark takes it back. */
  guard(mark: string, process: StartedProcess | undefined): void;
  /** From now on output is read and dropped: whoever ends a flood must not wait for it. */
  dropOutput(): void;
  /**
   * Whether something still waits for the running command at the far end, or whether that process of another channel is
   * alive; undefined when no answer came.
   */
  isAlive(process: StartedProcess | undefined, signal: AbortSignal): Promise<boolean | undefined>;
}

const OPEN_WITHIN_MS = 30_000;
const CLOSE_WITHIN_MS = 2_000;
/** A transport whose output is held by what a command left behind would not end by itself. */
const CLOSE_HELD_WITHIN_MS = 200;

/** Starts a shell and hands it the driver; rejects with what the transport said when it cannot. */
export async function openChannel(transport: Transport, signal: AbortSignal): Promise<Channel> {
  signal.throwIfAborted();
  const channel = createChannel(transport.started ?? startShell(transport), transport.argv[0]);
  using deadline = openDeadline(signal, OPEN_WITHIN_MS);
  try {
    await channel.greet(transport.prelude ?? "", deadline.signal);
  } catch (error) {
    await channel[Symbol.asyncDispose]();
    if (!deadline.isOver) throw error;
    const message = `No shell answered within ${OPEN_WITHIN_MS / 1_000} s.`;
    throw new AppError("channel-unopened", message, { cause: error });
  }
  return channel;
}

interface Running {
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
  let held = false;
  let spent = false; // its driver has handed its input to a command and does not listen any more
  let dropping = false;
  let running: Running | undefined;
  let complaint = "";
  let free = true; // false from the start of a command until nothing of it can print any more
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
    child.once("close", (code, signal) => die(`${program} ended with ${signal ?? `exit code ${code}`}`));
    // The shell may be gone while something it left behind keeps the pipes open: do not wait for that.
    child.once("exit", (code, signal) => {
      const gone = (): void => die(`${program} ended with ${signal ?? `exit code ${code}`}`);
      // After a busy spell of ours its last words are still to be read; that is done before the next turn.
      setTimeout(() => setImmediate(gone), 500).unref();
    });
    child.stdin.on("error", () => undefined); // told by exit
  });

  const finish = (end: ChannelEnd): void => {
    const command = running;
    running = undefined;
    command?.resolve(end);
  };
  const finishWhenDone = (command: Running): void => {
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
      held = fields !== "0";
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
          if (stream === "stderr" && complaint.length < 4_096)
            complaint += Buffer.from(bytes).toString("utf8");
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

  const send = (snippet: string): void => void child.stdin.write(snippet);

  /** Sends a verb and collects its answers until the closing one; undefined when the channel died or time is up. */
  function ask(verb: string, words: string, signal: AbortSignal): Promise<string[] | undefined> {
    const token = newToken();
    const found: string[] = [];
    return new Promise((resolve) => {
      const done = (result: string[] | undefined): void => {
        requests.delete(token);
        parsers.stdout.forget(token);
        signal.removeEventListener("abort", giveUp);
        resolve(result);
      };
      // The answer may still come, and is then not to be taken for output: the token is forgotten when it has.
      const giveUp = (): void => resolve(undefined);
      if (death !== undefined || signal.aborted) return done(undefined);
      signal.addEventListener("abort", giveUp);
      requests.set(token, (letter, fields) => {
        if (letter === ".") done(found);
        else if (letter === "!") done(undefined);
        else found.push(letter + fields);
      });
      parsers.stdout.expect(token, "answers");
      send(`${verb} ${token} ${words}\n`);
    });
  }

  function start(command: ChannelCommand, input: Running["input"]): Promise<ChannelEnd> {
    if (death !== undefined) return Promise.resolve({ kind: "lost", started: false, reason: death });
    if (running !== undefined) throw new Error("a channel runs one command at a time");
    const token = newToken();
    const stateToken = newToken();
    parsers.stdout.expect(token, "answers");
    parsers.stdout.expect(stateToken, "state");
    parsers.stderr.expect(token, "answers");
    complaint = "";
    dropping = false;
    free = false;
    settled = new Promise((resolve) => {
      settle = resolve;
    });
    return new Promise((resolve) => {
      const tidy = (end: ChannelEnd): void => {
        parsers.stderr.forget(token);
        parsers.stdout.forget(stateToken);
        void settled.then(() => parsers.stdout.forget(token));
        resolve(end);
      };
      running = {
        token,
        command,
        input,
        resolve: tidy,
        started: false,
        badFolder: false,
        exitCode: undefined,
        state: undefined,
        streamsOpen: 2,
      };
      send(runSnippet(shell, input !== undefined, { ...command, token, stateToken }));
    });
  }

  const isUsable = (): boolean => death === undefined && !held && !spent && free;
  return {
    get shell() {
      return shell;
    },
    get usable() {
      return isUsable();
    },
    get isHeld() {
      return death === undefined && held;
    },
    get isSpent() {
      return spent;
    },
    get exitCode() {
      return child.exitCode ?? undefined;
    },
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
      parsers.stdout.expect(token, "answers");
      parsers.stderr.expect(token, "answers");
      parsers.stdout.expect(stateToken, "state");
      send(driverProgram(token, stateToken, prelude));
      const answer = await greeting;
      requests.delete(token);
      parsers.stdout.forget(token);
      parsers.stderr.forget(token);
      parsers.stdout.forget(stateToken);
      signal.throwIfAborted();
      if (answer === undefined) {
        const said = complaint.trim().split("\n").at(-1);
        throw new AppError("channel-unopened", `No shell could be started: ${said || death}.`);
      }
      isGreeted = true;
      shell = answer === "bash" ? "bash" : "sh";
    },
    run: (command: ChannelCommand) => start(command, undefined),
    async runWithInput(command: ChannelCommand, input: ChannelInput): Promise<ChannelEnd> {
      let isComplete = false;
      // Some shells read ahead: the input may only follow when the far end is ready to pass it on.
      let open = (): void => undefined;
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      const end = start(command, {
        onHeld(holder) {
          input.onHeld(holder);
          open();
        },
        // Without this check, the end of a broken transport would count as the end of the input.
        onDelivered() {
          if (isComplete) input.onDelivered();
        },
      });
      spent = true;
      await Promise.race([opened, end]);
      feed(child.stdin, input.chunks, end).then((isWhole) => {
        isComplete = isWhole;
        child.stdin.end();
      }, input.onFailed);
      return end;
    },
    async completeInput(holder: StartedProcess, signal: AbortSignal): Promise<boolean | undefined> {
      const answers = await ask("E", `${holder.pid} ${holder.startTime}`, signal);
      return answers && answers.length > 0;
    },
    settled: () => settled,
    async processes(mark: string, signal: AbortSignal): Promise<ProcessRow[] | undefined> {
      const rows = await ask("P", mark, signal);
      return rows?.flatMap((row) => (row.startsWith("p") ? (parseProcessRow(row.slice(1)) ?? []) : []));
    },
    kill(signal: "TERM" | "KILL", pids: readonly number[]): void {
      if (pids.length === 0) return;
      const list = pids.join(" ");
      const each = ["STOP", signal, "CONT"].map((name) => `kill -${name} ${list} 2>/dev/null`);
      send(`${each.join("; ")}\n`);
    },
    guard(mark: string, process: StartedProcess | undefined): void {
      send(`G '${mark}' '${process?.pid ?? ""}' '${process?.startTime ?? ""}'\n`);
    },
    dropOutput(): void {
      dropping = true;
      child.stdout.resume();
      child.stderr.resume();
    },
    async isAlive(process: StartedProcess | undefined, signal: AbortSignal): Promise<boolean | undefined> {
      const answers = await ask("V", process ? `${process.pid} ${process.startTime}` : "", signal);
      return answers && answers.length > 0;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      if (isGreeted && isUsable() && child.leave) {
        await child.leave().catch(() => undefined); // gone already
        return;
      }
      child.stdin.end();
      // It has done nothing for us yet, and nobody waits for a person's slow init files.
      if (!isGreeted && death === undefined) {
        if (child.pid === undefined) child.kill("SIGKILL");
        else await endProcessGroup(child.pid, 0);
      }
      const timer = setTimeout(() => child.kill("SIGKILL"), held ? CLOSE_HELD_WITHIN_MS : CLOSE_WITHIN_MS);
      await ended;
      clearTimeout(timer);
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

/** Resolves to whether the input was handed on to its end: the command may be over before that. */
async function feed(
  stdin: NodeJS.WritableStream,
  chunks: AsyncIterable<Uint8Array>,
  end: Promise<unknown>,
): Promise<boolean> {
  const iterator = chunks[Symbol.asyncIterator]();
  // A race of each chunk against `end` would keep all chunks in memory until then.
  let isOver = false;
  let wake: (() => void) | undefined;
  const onDrain = (): void => wake?.();
  void end.then(() => {
    isOver = true;
    wake?.();
  });
  stdin.on("drain", onDrain);
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<Uint8Array> | undefined>((resolve, reject) => {
        wake = () => {
          if (isOver) resolve(undefined);
        };
        wake();
        iterator.next().then(resolve, reject);
      });
      if (next === undefined || next.done) return next !== undefined;
      if (stdin.write(next.value)) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isOver) resolve();
      });
    }
  } finally {
    stdin.off("drain", onDrain);
    void Promise.resolve(iterator.return?.()).catch(() => undefined); // it may hang or fail; nobody waits for it
  }
}

function parseStarted(fields: string): StartedProcess {
  const [pid, startTime = ""] = fields.split(" ");
  return { pid: Number(pid), startTime };
}
