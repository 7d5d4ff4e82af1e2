import { EventEmitter } from "node:events";
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { json } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { messageOf } from "../../lib/errors.ts";
import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import type { RunningShell } from "../channel/start-shell.ts";

/**
 * A Docker engine, asked over its own socket: its client takes longer to start than the engine to answer. It is used for
 * what every single command needs. Whatever goes wrong here is left to the client, which knows best how to say it.
 */
export interface EngineSocket {
  /** What the client's `inspect` describes; null when the engine has none, undefined when no answer came. */
  inspect(kind: "containers" | "images", name: string, signal: AbortSignal): Promise<unknown>;
  /** Full ids of all containers, in whatever state, that pass every filter; undefined when no answer came. */
  listContainerIds(filters: readonly string[], signal: AbortSignal): Promise<string[] | undefined>;
  /** Whether a command is just being started in it; undefined when no answer came. */
  isStarting(container: string, signal: AbortSignal): Promise<boolean | undefined>;
  /** Holds it still; false when that is left to the client, who says why it cannot be done. */
  pause(container: string, signal: AbortSignal): Promise<boolean>;
  /** Starts a shell in a running container; one that cannot be started says so on stderr and ends. */
  startShell(container: string): RunningShell;
}

const ANSWER_WITHIN_MS = 2_000;
const NO_CONTENT = 204;
const NOT_FOUND = 404;

export function createEngineSocket(socketPath: string): EngineSocket {
  const send = (
    method: string,
    path: string,
    options: { body?: object; headers?: OutgoingHttpHeaders; signal?: AbortSignal } = {},
  ): ClientRequest => {
    const body = options.body && JSON.stringify(options.body);
    const headers = {
      Host: "docker",
      ...(body && { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) }),
      ...options.headers,
    };
    // Node's pool of connections would first parse the name of the host, which takes longer than the engine's answer.
    const createConnection = () => connect(socketPath);
    const sent = request({ createConnection, method, path, headers }).end(body);
    options.signal?.addEventListener("abort", () => sent.destroy(), { once: true });
    return sent;
  };
  const ask = async (...question: Parameters<typeof send>): Promise<unknown> => {
    const [answer] = await settled<[IncomingMessage]>(send(...question), "response");
    const value = await json(answer);
    // Podman listens on such sockets too, but describes a container in other words.
    if (!String(answer.headers.server).startsWith("Docker/")) throw new Error("The engine is not Docker's.");
    if (answer.statusCode === NOT_FOUND) return null;
    if (answer.statusCode !== 200 && answer.statusCode !== 201) throw new Error(complaintIn(value));
    return value;
  };
  const lookUp = (path: string, signal: AbortSignal): Promise<unknown> => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
    return ask("GET", path, { signal: within }).catch(() => undefined);
  };

  return {
    inspect: (kind, name, signal) =>
      lookUp(`/${kind}/${name.split("/").map(encodeURIComponent).join("/")}/json`, signal),
    async listContainerIds(filters, signal) {
      const query = new URLSearchParams({ all: "1", filters: JSON.stringify(groupFilters(filters)) });
      const answer = await lookUp(`/containers/json?${query}`, signal);
      return Array.isArray(answer) ? answer.map(({ Id }: { Id: string }) => Id) : undefined;
    },
    async isStarting(container, signal) {
      const found = await lookUp(`/containers/${encodeURIComponent(container)}/json`, signal);
      const { ExecIDs: ids } = (found ?? {}) as { ExecIDs?: readonly string[] | null };
      if (ids === undefined) return undefined;
      const commands = await Promise.all((ids ?? []).map((id) => lookUp(`/exec/${id}/json`, signal)));
      // One that has started has a process or, when it is over, an exit code.
      return commands.some((command) => {
        const { Pid, ExitCode } = (command ?? { Pid: 1 }) as { Pid?: number; ExitCode?: number | null };
        return !Pid && ExitCode === null;
      });
    },
    async pause(container, signal) {
      const [answer] = await settled<[IncomingMessage]>(
        send("POST", `/containers/${encodeURIComponent(container)}/pause`, { signal }),
        "response",
      ).catch(() => []);
      answer?.resume();
      return answer?.statusCode === NO_CONTENT;
    },
    startShell(container) {
      let id = "";
      return connectShell({
        async open() {
          const streams = { AttachStdin: true, AttachStdout: true, AttachStderr: true };
          const body = { ...streams, Cmd: ["sh", ...SHELL_ARGUMENTS] };
          const made = await ask("POST", `/containers/${encodeURIComponent(container)}/exec`, { body });
          if (made === null) throw new Error(`No such container: ${container}`);
          id = (made as { Id: string }).Id;
          const started = send("POST", `/exec/${id}/start`, {
            body: { Detach: false, Tty: false },
            headers: { Connection: "Upgrade", Upgrade: "tcp" },
          });
          started.once("response", (answer) => started.destroy(new Error(`HTTP ${answer.statusCode}`)));
          const [, socket, head] = await settled<[unknown, Socket, Buffer]>(started, "upgrade");
          socket.unshift(head);
          return socket;
        },
        async exitCode() {
          const { ExitCode } = (await ask("GET", `/exec/${id}/json`)) as { ExitCode: number | null };
          return ExitCode;
        },
      });
    },
  };
}

/** What a socket describes of these, as far as the engine has them; undefined when it cannot tell of each, or there is none. */
export async function inspectQuickly(
  socket: EngineSocket | undefined,
  kind: "containers" | "images",
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly unknown[] | undefined> {
  if (socket === undefined) return undefined;
  const found = await Promise.all(names.map((name) => socket.inspect(kind, name, signal)));
  return found.includes(undefined) ? undefined : found.filter((description) => description !== null);
}

/** `label=a=b` as the engine wants it: all values of a key together. */
function groupFilters(filters: readonly string[]): Record<string, string[]> {
  const grouped: Record<string, string[]> = {};
  for (const filter of filters) {
    const [key = "", ...rest] = filter.split("=");
    grouped[key] = [...(grouped[key] ?? []), rest.join("=")];
  }
  return grouped;
}

interface Connection {
  open(): Promise<Socket>;
  /** What the shell ended with. */
  exitCode(): Promise<number | null>;
}

/** A shell at the other end of a connection, with the face of a process of ours. */
function connectShell({ open, exitCode }: Connection): RunningShell {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const opened = open();
  let isLeft = false;
  const shell = Object.assign(new EventEmitter(), {
    stdin,
    stdout,
    stderr,
    exitCode: null as number | null,
    kill: () => void opened.then((socket) => socket.destroy()).catch(() => undefined),
    // The engine takes some 15 ms to tell that a shell has ended, which a single command need not wait for.
    async leave() {
      isLeft = true;
      stdin.end();
      const socket = await opened;
      await finished(socket, { readable: false });
      socket.destroy();
    },
  });
  const pass = async (): Promise<void> => {
    const socket = await opened;
    stdin.pipe(socket);
    splitStreams(socket, [stdin, stdout, stderr]);
    await finished(socket, { writable: false }).catch(() => undefined); // cut or ended: that is told by what comes next
    stdin.unpipe(socket);
    if (!isLeft) shell.exitCode = await exitCode();
  };
  void pass()
    .catch((error: unknown) => {
      shell.exitCode = 1;
      stderr.write(messageOf(error));
    })
    .then(() => {
      shell.emit("exit", shell.exitCode, null);
      stdout.end();
      stderr.end();
      return Promise.all([finished(stdout), finished(stderr)]);
    })
    .catch(() => undefined) // destroyed by who reads them
    .then(() => shell.emit("close", shell.exitCode, null));
  return shell;
}

const HEADER_BYTES = 8;

/** The engine sends both outputs through one connection, each piece behind the number of its stream and its length. */
function splitStreams(socket: Socket, streams: readonly PassThrough[]): void {
  let header = Buffer.alloc(0);
  let left = 0;
  let target: PassThrough | undefined;
  const resume = () => {
    if (!streams.some(({ writableNeedDrain }) => writableNeedDrain)) socket.resume();
  };
  for (const stream of streams) stream.on("drain", resume);
  socket.on("data", (chunk: Buffer) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (left === 0) {
        const missing = HEADER_BYTES - header.length;
        header = Buffer.concat([header, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (header.length < HEADER_BYTES) return;
        target = streams[header.readUInt8(0)];
        left = header.readUInt32BE(4);
        header = Buffer.alloc(0);
      }
      const piece = rest.subarray(0, left);
      rest = rest.subarray(piece.length);
      left -= piece.length;
      if (piece.length > 0 && target?.write(piece) === false) socket.pause();
    }
  });
}

/** The arguments of an event of a request, or its error. */
function settled<Values extends unknown[]>(asked: ClientRequest, event: string): Promise<Values> {
  return new Promise((resolve, reject) => {
    asked.once(event, (...values) => resolve(values as Values)).once("error", reject);
  });
}

function complaintIn(value: unknown): string {
  return typeof value === "object" && value !== null && "message" in value
    ? String(value.message)
    : "refused";
}
