import { basename } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { type ProcessResult, runProcess } from "../../../lib/process/process.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import type { Reporter } from "../../environment-request.ts";
import type { EngineSocket } from "./engine-socket.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

/** Options of `create` that some engines refuse; a sandbox works without them, but is less confined. */
export const CAPABILITIES = ["cpus", "memory", "pids", "disk", "shm", "init", "no-new-privileges"] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** The engine's `info`; fields that the engine does not report are undefined. */
export interface EngineInfo {
  readonly storageDriver: string | undefined;
  readonly backingFileSystem: string | undefined;
  readonly cpus: number | undefined;
  readonly limits: {
    readonly cpus: boolean | undefined;
    readonly memory: boolean | undefined;
    readonly pids: boolean | undefined;
  };
  readonly runtimes: readonly string[] | undefined;
  /** The engine runs as an unprivileged user, who is root only inside of its containers. */
  readonly rootless: boolean;
}

export interface EngineCall {
  readonly timeoutMs: number;
  /** Added to the client's own environment. */
  readonly variables?: Variables;
  /** Content of the client's /dev/stdin. */
  readonly stdin?: string;
  readonly onStdout?: (chunk: Uint8Array) => void;
}

/** A container engine, reached through its command-line client. */
export interface Engine {
  readonly binary: string;
  /** The client's whole environment. */
  readonly env: Variables;
  /** Direct access to the engine's API, which is faster than the client; undefined where it is not available. */
  readonly socket: EngineSocket | undefined;
  /** Facts about the engine, so that each is requested and reported only once. */
  readonly cache: {
    info: EngineInfo | undefined;
    readonly missingCapabilities: Set<Capability>;
    readonly printedNotices: Set<string>;
  };
  /** Runs one command of the client; resolves for every exit code and for a timeout. A plain number is the timeout. */
  run(args: readonly string[], call: EngineCall | number, signal: AbortSignal): Promise<ProcessResult>;
}

/** Node gives a child a socket as stdin, which Linux cannot open as /dev/stdin; `cat` turns it into a pipe. */
const STDIN_AS_PIPE = ["/bin/sh", "-c", 'cat | "$0" "$@"'] as const;

/** Creates the handle of an engine, without calling its client. */
export function createEngine(binary: string, env: Variables, socket?: EngineSocket): Engine {
  return {
    binary,
    env,
    socket,
    cache: { info: undefined, missingCapabilities: new Set(), printedNotices: new Set() },
    run(args, given, signal) {
      const { variables, ...call } = typeof given === "number" ? { timeoutMs: given } : given;
      const command = [binary, ...args] as const;
      const argv = call.stdin ? ([...STDIN_AS_PIPE, ...command] as const) : command;
      return runProcess(argv, { ...call, env: { ...env, ...variables } }, signal);
    },
  };
}

/** The address at which this client reaches the engine; other clients may use another address for it. */
export function engineAddress({ binary, env }: Engine): string {
  const kind = basename(binary).includes("podman") ? "podman" : "docker";
  const address =
    env["DOCKER_HOST"] || (env["DOCKER_CONTEXT"] ? `context ${env["DOCKER_CONTEXT"]}` : "default");
  return `${kind} ${address}`;
}

/** Prints a notice once per engine handle. */
export function noticeOnce(engine: Engine, text: string, { onNotice }: Reporter): void {
  if (engine.cache.printedNotices.has(text)) return;
  engine.cache.printedNotices.add(text);
  onNotice(text);
}

export function succeeded({ exitCode, timedOut }: ProcessResult): boolean {
  return exitCode === 0 && !timedOut;
}

/** The error of a failed call: the problem, followed by the client's output. */
export function callFailed(problem: string, result: ProcessResult, hint?: string): AppError {
  const options = hint === undefined ? {} : { hint };
  return new AppError("sandbox-unavailable", `${problem}: ${formatFailure(result)}`, options);
}

const MAX_COMPLAINT_LENGTH = 2_000;

/** The client's output about a failed call, for messages only; code must not depend on its text. */
export function formatFailure(result: ProcessResult): string {
  if (result.timedOut) return `no answer within ${Math.round(result.durationMs / 1_000)} s`;
  const text = shorten(result.stderr.trim() || result.stdout.trim(), MAX_COMPLAINT_LENGTH);
  return text === "" ? `exit code ${result.exitCode ?? result.signal}` : text;
}
