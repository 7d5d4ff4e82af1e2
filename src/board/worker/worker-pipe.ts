import { Socket } from "node:net";
import { AppError } from "../../lib/errors.ts";
import { type WorkerOrder, workerOrderSchema } from "./run-order.ts";

const LONGEST_ORDER = 64 * 1024;
/** The share of the lease after which the worker stops, well before another host can claim the task. */
const TRUSTED_SHARE = 0.8;

/** A worker's end of the pipe to its supervisor. */
export interface WorkerPipe extends Disposable {
  readonly order: WorkerOrder;
  /** Calls `onLost` once when the supervisor has exited or has not renewed the lease for too long. */
  watch(onLost: () => void): void;
}

/** Opens the pipe and reads the order of the worker; rejects when the pipe delivers no order. */
export async function openWorkerPipe(descriptor: number, signal: AbortSignal): Promise<WorkerPipe> {
  signal.throwIfAborted();
  const socket = openSocket(descriptor);
  let isLost = false;
  let onLost: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  const lose = (): void => {
    isLost = true;
    onLost?.();
  };
  try {
    const { order, rest } = await readOrder(socket, signal);
    const { leaseMs } = order.run;
    /** Restarts the timer from the time at which the supervisor requested its last renewal; both share one clock. */
    const trustSince = (renewedAt: number): void => {
      clearTimeout(timer);
      timer = setTimeout(lose, Math.max(0, renewedAt + leaseMs * TRUSTED_SHARE - Date.now()));
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
    socket.unref(); // the open pipe must not keep a finished worker alive
    return {
      order,
      watch(callback) {
        onLost = callback;
        if (isLost) callback();
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

/** Reads the first line, and returns the text that was received after it. */
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
  return new AppError("usage-wrong", "Only the supervisor of a run can start its worker.", { cause });
}
