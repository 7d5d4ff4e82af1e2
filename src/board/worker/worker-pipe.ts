import { Socket } from "node:net";
import { AppError } from "../../lib/errors.ts";
import { type WorkerOrder, workerOrderSchema } from "./run-order.ts";

const LONGEST_ORDER = 64 * 1024;
/** Of the lease: the rest is time in which another host may not have the task yet. */
const TRUST = 0.8;

/** A worker's end of the pipe to its supervisor. */
export interface WorkerPipe extends Disposable {
  readonly order: WorkerOrder;
  /** From now on calls `onLost` once when the supervisor is gone, or has not renewed the lease for too long. */
  watch(onLost: () => void): void;
}

/** Reads what a worker is told; rejects when the pipe brings no order. */
export async function openWorkerPipe(descriptor: number, signal: AbortSignal): Promise<WorkerPipe> {
  signal.throwIfAborted();
  const socket = openSocket(descriptor);
  let isOver = false;
  let onLost: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  const lose = (): void => {
    isOver = true;
    onLost?.();
  };
  try {
    const { order, rest } = await readOrder(socket, signal);
    const { leaseMs } = order.run;
    /** The supervisor says when it asked for its last renewal, by the clock that we share. */
    const trustSince = (renewedAt: number): void => {
      clearTimeout(timer);
      timer = setTimeout(lose, Math.max(0, renewedAt + leaseMs * TRUST - Date.now()));
      timer.unref();
    };
    let text = rest;
    const onText = (): void => {
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      const beat = Number(lines.at(-1) ?? "");
      if (beat > 0) trustSince(beat);
    };
    trustSince(Date.now());
    onText();
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      onText();
    });
    socket.on("close", lose);
    socket.on("error", lose);
    socket.unref(); // a worker that is done does not wait for its supervisor
    return {
      order,
      watch(callback) {
        onLost = callback;
        if (isOver) callback();
      },
      [Symbol.dispose]() {
        onLost = undefined;
        clearTimeout(timer);
        socket.destroy();
      },
    };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function openSocket(descriptor: number): Socket {
  try {
    return new Socket({ fd: descriptor, readable: true, writable: false });
  } catch (cause) {
    throw noOrder(cause);
  }
}

/** The first line, and what came with it. */
function readOrder(
  socket: Socket,
  signal: AbortSignal,
): Promise<{ readonly order: WorkerOrder; readonly rest: string }> {
  return new Promise((resolve, reject) => {
    let text = "";
    const fail = (cause?: unknown): void => reject(noOrder(cause));
    const onData = (chunk: Buffer): void => {
      text += chunk.toString("utf8");
      const end = text.indexOf("\n");
      if (end === -1 && text.length < LONGEST_ORDER) return;
      socket.off("data", onData).off("close", fail).off("error", fail);
      try {
        resolve({
          order: workerOrderSchema.parse(JSON.parse(text.slice(0, end))),
          rest: text.slice(end + 1),
        });
      } catch (error) {
        fail(error);
      }
    };
    socket.on("data", onData).on("close", fail).on("error", fail);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function noOrder(cause: unknown): AppError {
  return new AppError("usage-wrong", "A worker of the board is started by its supervisor only.", { cause });
}
