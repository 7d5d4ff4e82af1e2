import type {
  TerminalCloseCode,
  TerminalNotice,
  TerminalRequest,
  TerminalTicket,
} from "../../../src/api/contract/machines/terminals.ts";
import type { Api } from "../data/api.ts";
import { Problem } from "../data/problem.ts";

export type TerminalState =
  | { readonly name: "connecting" | "open" | "lost" | "taken-over" }
  | { readonly name: "ended"; readonly exitCode: number | undefined };

/** What a connection shows. */
export interface TerminalOutput {
  /** The output that follows redraws the screen from the beginning. */
  onScreen(columns: number, rows: number): void;
  /** `markRead` is called once the output is on the screen. */
  onOutput(bytes: Uint8Array, markRead: () => void): void;
  onState(state: TerminalState): void;
}

export interface TerminalConnection {
  write(input: string): void;
  resize(columns: number, rows: number): void;
  /** Connects now: after a pause, or to take the terminal over from another page. */
  connect(): void;
  /** Leaves the terminal, which keeps running. */
  leave(): void;
}

const RETRIES_MS = [300, 1_000, 2_000, 5_000, 10_000];
/** Reports of processed output are sent for at least this much. */
const REPORT_BYTES = 8 * 1_024;
const MAX_INPUT_BYTES = 32 * 1_024;
const CLOSED: Readonly<Record<"slow" | "takenOver" | "ended", TerminalCloseCode>> = {
  slow: 4408,
  takenOver: 4409,
  ended: 4410,
};

/** Shows an open terminal, and connects again after every interruption, until it is left or ends. */
export function connectTerminal(api: Api, id: string, output: TerminalOutput): TerminalConnection {
  const path = `terminals/${encodeURIComponent(id)}`;
  let socket: WebSocket | undefined;
  let attempt = 0;
  let timer = 0;
  let exitCode: number | undefined;
  let hasLeft = false;
  let isEnded = false;

  const end = (): void => {
    isEnded = true;
    output.onState({ name: "ended", exitCode });
  };
  const retry = (): void => {
    output.onState({ name: "lost" });
    const pause = RETRIES_MS[Math.min(attempt, RETRIES_MS.length - 1)] ?? 0;
    attempt += 1;
    clearTimeout(timer);
    timer = window.setTimeout(connect, pause);
  };

  function connect(): void {
    clearTimeout(timer);
    if (hasLeft || isEnded || socket !== undefined) return;
    const opening = api.send<TerminalTicket>("POST", `${path}/tickets`);
    opening.then(open, (error: unknown) => {
      if (hasLeft) return;
      if (error instanceof Problem && error.status === 404) end();
      else retry();
    });
  }

  function open({ ticket }: TerminalTicket): void {
    if (hasLeft || socket !== undefined) return;
    const address = api.url(`${path}?ticket=${encodeURIComponent(ticket)}`);
    address.protocol = address.protocol.replace("http", "ws");
    const own = new WebSocket(address);
    socket = own;
    own.binaryType = "arraybuffer";
    let unreported = 0;
    const report = (bytes: number): void => {
      unreported += bytes;
      if (unreported < REPORT_BYTES || own.readyState !== WebSocket.OPEN) return;
      send(own, { type: "read", bytes: unreported });
      unreported = 0;
    };
    own.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data !== "string") {
        const bytes = new Uint8Array(data);
        output.onOutput(bytes, () => report(bytes.length));
        return;
      }
      const notice = JSON.parse(data) as TerminalNotice;
      if (notice.type === "exit") exitCode = notice.code;
      else {
        attempt = 0;
        output.onState({ name: "open" });
        output.onScreen(notice.columns, notice.rows);
      }
    };
    own.onclose = ({ code }) => {
      if (socket === own) socket = undefined;
      if (hasLeft) return;
      if (code === CLOSED.ended) end();
      else if (code === CLOSED.takenOver) output.onState({ name: "taken-over" });
      else retry();
    };
  }

  const onReturn = (): void => {
    if (!document.hidden && timer !== 0 && socket === undefined) connect();
  };
  addEventListener("online", onReturn);
  document.addEventListener("visibilitychange", onReturn);
  connect();
  return {
    write(input) {
      if (socket?.readyState !== WebSocket.OPEN) return;
      const bytes = new TextEncoder().encode(input);
      for (let at = 0; at < bytes.length; at += MAX_INPUT_BYTES)
        socket.send(bytes.slice(at, at + MAX_INPUT_BYTES));
    },
    resize(columns, rows) {
      if (socket?.readyState === WebSocket.OPEN) send(socket, { type: "resize", columns, rows });
    },
    connect,
    leave() {
      hasLeft = true;
      clearTimeout(timer);
      removeEventListener("online", onReturn);
      document.removeEventListener("visibilitychange", onReturn);
      socket?.close();
    },
  };
}

function send(socket: WebSocket, request: TerminalRequest): void {
  socket.send(JSON.stringify(request));
}
