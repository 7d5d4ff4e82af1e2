import { EventEmitter } from "node:events";
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { json } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { messageOf } from "../../../lib/errors.ts";
import type { RunningShell } from "../../channel/start-shell.ts";
import { channelCommand } from "../lifecycle/keeper.ts";

export type EngineSocket = ReturnType<typeof createEngineSocket>;

const TIMEOUT_MS = 2_000;
const NO_CONTENT = 204;
const NOT_FOUND = 404;

/**
 * The API of a Docker engine over its own socket, for the calls that every command needs: the client takes longer to
 * start than the engine to answer. After a failure the caller falls back to the client, which reports errors better.
 */
export function createEngineSocket(socketPath: string) {
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
    // Node's connection pool would parse the host name first, which takes longer than the engine's answer.
    const createConnection = () => connect(socketPath);
    const sent = request({ createConnection, method, path, headers }).end(body);
    options.signal?.addEventListener("abort", () => sent.destroy(), { once: true });
    return sent;
  };
  const fetchJson = async (...call: Parameters<typeof send>): Promise<unknown> => {
    const [answer] = await waitForEvent<[IncomingMessage]>(send(...call), "response");
    const value = await json(answer);
    // Podman listens on such sockets too, but its descriptions have another format.
    if (!String(answer.headers.server).startsWith("Docker/")) throw new Error("The engine is not Docker.");
    if (answer.statusCode === NOT_FOUND) return null;
    if (answer.statusCode !== 200 && answer.statusCode !== 201) throw new Error(messageIn(value));
    return value;
  };
  const tryGet = (path: string, signal: AbortSignal): Promise<unknown> => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    return fetchJson("GET", path, { signal: limited }).catch(() => undefined);
  };

  return {
    /** Returns the same as the client's `inspect`; null when the object does not exist, undefined without an answer. */
    inspect: (kind: "containers" | "images", name: string, signal: AbortSignal) =>
      tryGet(`/${kind}/${name.split("/").map(encodeURIComponent).join("/")}/json`, signal),
    /** Lists the full ids of all containers, in any state, that match every filter; undefined without an answer. */
    async listContainerIds(filters: readonly string[], signal: AbortSignal): Promise<string[] | undefined> {
      const query = new URLSearchParams({ all: "1", filters: JSON.stringify(groupFilters(filters)) });
      const answer = await tryGet(`/containers/json?${query}`, signal);
      return Array.isArray(answer) ? answer.map(({ Id }: { Id: string }) => Id) : undefined;
    },
    /** Whether the engine is starting a command in the container; undefined without an answer. */
    async isStarting(container: string, signal: AbortSignal): Promise<boolean | undefined> {
      const found = await tryGet(`/containers/${encodeURIComponent(container)}/json`, signal);
      const { ExecIDs: ids } = (found ?? {}) as { ExecIDs?: readonly string[] | null };
      if (ids === undefined) return undefined;
      const commands = await Promise.all((ids ?? []).map((id) => tryGet(`/exec/${id}/json`, signal)));
      // A command that has started has a process id or, after its end, an exit code.
      return commands.some((command) => {
        const { Pid, ExitCode } = (command ?? { Pid: 1 }) as { Pid?: number; ExitCode?: number | null };
        return !Pid && ExitCode === null;
      });
    },
    /** Pauses the container; on false the caller must use the client, which reports the reason. */
    async pause(container: string, signal: AbortSignal): Promise<boolean> {
      const [answer] = await waitForEvent<[IncomingMessage]>(
        send("POST", `/containers/${encodeURIComponent(container)}/pause`, { signal }),
        "response",
      ).catch(() => []);
      answer?.resume();
      return answer?.statusCode === NO_CONTENT;
    },
    /** Starts a shell in a running container; a failure appears on the shell's stderr, and the shell exits. */
    startShell(container: string): RunningShell {
      let id = "";
      const open = async (): Promise<Socket> => {
        const streams = { AttachStdin: true, AttachStdout: true, AttachStderr: true };
        const body = { ...streams, Cmd: channelCommand() };
        const path = `/containers/${encodeURIComponent(container)}/exec`;
        const created = await fetchJson("POST", path, { body });
        if (created === null) throw new Error(`No such container: ${container}`);
        id = (created as { Id: string }).Id;
        const started = send("POST", `/exec/${id}/start`, {
          body: { Detach: false, Tty: false },
          headers: { Connection: "Upgrade", Upgrade: "tcp" },
        });
        started.once("response", (answer) => started.destroy(new Error(`HTTP ${answer.statusCode}`)));
        const [, socket, head] = await waitForEvent<[unknown, Socket, Buffer]>(started, "upgrade");
        socket.unshift(head);
        return socket;
      };
      return connectShell(open(), async () => {
        const { ExitCode } = (await fetchJson("GET", `/exec/${id}/json`)) as { ExitCode: number | null };
        return ExitCode;
      });
    },
  };
}

/** Inspects objects over the socket and omits missing ones; undefined without a socket or if any answer is missing. */
export async function inspectOverSocket(
  socket: EngineSocket | undefined,
  kind: "containers" | "images",
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly unknown[] | undefined> {
  if (socket === undefined) return undefined;
  const found = await Promise.all(names.map((name) => socket.inspect(kind, name, signal)));
  return found.includes(undefined) ? undefined : found.filter((description) => description !== null);
}

/** Converts filters like `label=a=b` to the format of the API, which groups the values by key. */
function groupFilters(filters: readonly string[]): Record<string, string[]> {
  const grouped: Record<string, string[]> = {};
  for (const filter of filters) {
    const [key = "", ...rest] = filter.split("=");
    grouped[key] = [...(grouped[key] ?? []), rest.join("=")];
  }
  return grouped;
}

/** Gives a shell at the other end of a connection the interface of a child process. */
function connectShell(opened: Promise<Socket>, exitCode: () => Promise<number | null>): RunningShell {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let isDetached = false;
  const shell = Object.assign(new EventEmitter(), {
    stdin,
    stdout,
    stderr,
    exitCode: null as number | null,
    kill: () => void opened.then((socket) => socket.destroy()).catch(() => undefined),
    // The engine takes about 15 ms to report the end of a shell; a single command need not wait for that.
    async detach() {
      isDetached = true;
      stdin.end();
      const socket = await opened;
      await finished(socket, { readable: false });
      socket.destroy();
    },
  });
  const forward = async (): Promise<void> => {
    const socket = await opened;
    stdin.pipe(socket);
    splitStreams(socket, [stdin, stdout, stderr]);
    await finished(socket, { writable: false }).catch(() => undefined); // the exit code shows whether the shell ended
    stdin.unpipe(socket);
    if (!isDetached) shell.exitCode = await exitCode();
  };
  void forward()
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
    .catch(() => undefined) // destroyed by the reader
    .then(() => shell.emit("close", shell.exitCode, null));
  return shell;
}

const HEADER_BYTES = 8;

/** The engine multiplexes stdout and stderr: a header with stream number and length precedes each chunk. */
function splitStreams(socket: Socket, streams: readonly PassThrough[]): void {
  let header = Buffer.alloc(0);
  let remaining = 0;
  let target: PassThrough | undefined;
  const resume = () => {
    if (!streams.some(({ writableNeedDrain }) => writableNeedDrain)) socket.resume();
  };
  for (const stream of streams) stream.on("drain", resume);
  socket.on("data", (chunk: Buffer) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (remaining === 0) {
        const missing = HEADER_BYTES - header.length;
        header = Buffer.concat([header, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (header.length < HEADER_BYTES) return;
        target = streams[header.readUInt8(0)];
        remaining = header.readUInt32BE(4);
        header = Buffer.alloc(0);
      }
      const piece = rest.subarray(0, remaining);
      rest = rest.subarray(piece.length);
      remaining -= piece.length;
      if (piece.length > 0 && target?.write(piece) === false) socket.pause();
    }
  });
}

/** Resolves to the arguments of the event; rejects with the error of the request. */
function waitForEvent<Values extends unknown[]>(sent: ClientRequest, event: string): Promise<Values> {
  return new Promise((resolve, reject) => {
    sent.once(event, (...values) => resolve(values as Values)).once("error", reject);
  });
}

function messageIn(value: unknown): string {
  return typeof value === "object" && value !== null && "message" in value
    ? String(value.message)
    : "refused";
}
