import { basename } from "node:path";
import { type ProcessResult, runProcess } from "../../lib/process.ts";
import { shorten } from "../../lib/shorten.ts";
import type { Reporter } from "../environment-request.ts";
import type { EngineSocket } from "./engine-socket.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

/** Options of the create command that some engines refuse; the sandbox works without them, only less confined. */
export const CAPABILITIES = ["cpus", "memory", "pids", "disk", "shm", "init", "no-new-privileges"] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** What an engine says about itself; a field that it does not say is undefined. */
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
  /** It runs as an ordinary user, who is root only inside of its containers. */
  readonly rootless: boolean;
}

/** What was learnt about an engine while its handle lives, so that it is asked and told once. */
export interface EngineMemory {
  info: EngineInfo | undefined;
  readonly lacking: Set<Capability>;
  readonly noticed: Set<string>;
}

export interface EngineCall {
  readonly timeoutMs: number;
  /** Added to the client's own environment. */
  readonly variables?: Variables;
  /** What the client reads from /dev/stdin. */
  readonly stdin?: string;
  readonly onStdout?: (chunk: Uint8Array) => void;
}

/** A container engine, reached through its command-line client. */
export interface Engine {
  /** Path of the client. */
  readonly binary: string;
  /** The client's whole environment. */
  readonly env: Variables;
  /** A quicker way to ask it, where there is one. */
  readonly socket: EngineSocket | undefined;
  readonly memory: EngineMemory;
  /** Runs one command of the client and resolves however it ends. */
  run(args: readonly string[], call: EngineCall, signal: AbortSignal): Promise<ProcessResult>;
}

/** Our end of a process's input is a socket on Linux, and such a thing cannot be opened as /dev/stdin. */
const BEHIND_A_PIPE = ["/bin/sh", "-c", 'cat | "$0" "$@"'] as const;

/** The engine behind a client program; nothing is started or asked yet. */
export function createEngine(binary: string, env: Variables, socket?: EngineSocket): Engine {
  return {
    binary,
    env,
    socket,
    memory: { info: undefined, lacking: new Set(), noticed: new Set() },
    run(args, { variables, ...call }, signal) {
      const command = [binary, ...args] as const;
      const argv = call.stdin ? ([...BEHIND_A_PIPE, ...command] as const) : command;
      return runProcess(argv, { ...call, env: { ...env, ...variables } }, signal);
    },
  };
}

/** Which engine this is, as far as our side knows: the same one may have other names elsewhere. */
export function engineAddress({ binary, env }: Engine): string {
  const kind = basename(binary).includes("podman") ? "podman" : "docker";
  const where =
    env["DOCKER_HOST"] || (env["DOCKER_CONTEXT"] ? `context ${env["DOCKER_CONTEXT"]}` : "default");
  return `${kind} ${where}`;
}

/** Tells something that stays true as long as the engine does, the first time only. */
export function noticeOnce(engine: Engine, text: string, { onNotice }: Reporter): void {
  if (engine.memory.noticed.has(text)) return;
  engine.memory.noticed.add(text);
  onNotice(text);
}

/** Whether a call did what it was asked to. */
export function succeeded({ exitCode, timedOut }: ProcessResult): boolean {
  return exitCode === 0 && !timedOut;
}

const LONGEST_COMPLAINT = 2_000;

/** What the client said about a call that failed, for a person to read; never to decide anything. */
export function complaintOf(result: ProcessResult): string {
  if (result.timedOut) return `no answer within ${Math.round(result.durationMs / 1_000)} s`;
  const text = shorten(result.stderr.trim() || result.stdout.trim(), LONGEST_COMPLAINT);
  return text === "" ? `exit code ${result.exitCode ?? result.signal}` : text;
}
