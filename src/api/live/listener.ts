/** How many bytes may wait for a page before one `reset` replaces them. */
const MAX_BEHIND_BYTES = 1024 * 1024;

export interface ListenerParts {
  /** A page is disconnected if it reads nothing for this long while events wait. */
  readonly stallMs: number;
  /** The `reset` that replaces the events of a page that is too far behind. */
  reset(): Buffer;
  /** Cuts the connection, also while the client reads nothing. */
  cut(): void;
  onEnd(): void;
}

/** The connection of one page, with a queue of unsent events. */
export interface Listener {
  readonly response: Response;
  send(bytes: Buffer): void;
  /** Sends a last event and ends the connection; waiting events are dropped. */
  end(last?: Buffer): void;
  /** Ends the connection at once. */
  cut(): void;
}

/** Opens the connection of a page. It ends when the client disconnects, when it stalls, or with `end`. */
export function openListener({ stallMs, reset, cut, onEnd }: ListenerParts, gone: AbortSignal): Listener {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let isEnding = false;
  let isOver = false;
  let wake: (() => void) | undefined;
  let stall: NodeJS.Timeout | undefined;

  const finish = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(stall);
    gone.removeEventListener("abort", finish);
    waiting = [];
    wake?.();
    onEnd();
  };
  gone.addEventListener("abort", finish);

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stall);
        if (waiting.length === 0 && !isEnding && !isOver) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        if (isOver) return;
        if (waiting.length > 0) controller.enqueue(Buffer.concat(waiting));
        waiting = [];
        waitingBytes = 0;
        if (isEnding) {
          controller.close();
          return finish();
        }
        stall = setTimeout(() => {
          finish();
          cut();
        }, stallMs).unref();
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );

  return {
    response: new Response(body, {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "x-accel-buffering": "no", // otherwise nginx would buffer the events
      },
    }),
    send(bytes) {
      if (isOver || isEnding) return;
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes > MAX_BEHIND_BYTES) {
        waiting = [reset()];
        waitingBytes = 0;
      }
      wake?.();
    },
    end(last) {
      if (isOver || isEnding) return;
      waiting = last === undefined ? [] : [last];
      isEnding = true;
      wake?.();
    },
    cut() {
      finish();
      cut();
    },
  };
}
