/** One event of a stream of server-sent events. */
export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

export interface StreamTimes {
  /** A comment is sent after this long without an event, so that proxies keep the connection. */
  readonly keepAliveMs: number;
  /** A client that reads nothing for this long is disconnected; its turn goes on. */
  readonly stallMs: number;
}

export const STREAM_TIMES: StreamTimes = { keepAliveMs: 30_000, stallMs: 120_000 };

export interface EventStreamParts {
  readonly times: StreamTimes;
  /** Cuts the connection. */
  disconnect(): void;
  /** Reports that the frames failed. */
  onError(error: unknown): void;
}

/**
 * Answers with the frames as the client reads them: while it does not read, no further frame is produced, so that none pile up.
 * `open` gets a signal that aborts when the client is gone. The body never fails, because the HTTP library would print the error:
 * the connection is cut instead.
 */
export function createEventStream(
  open: (signal: AbortSignal) => AsyncGenerator<Frame>,
  headers: Readonly<Record<string, string>>,
  { times: { keepAliveMs, stallMs }, disconnect, onError }: EventStreamParts,
): Response {
  const gone = new AbortController();
  const encoder = new TextEncoder();
  const frames = open(gone.signal);
  let next: Promise<IteratorResult<Frame>> | undefined;
  let stall: NodeJS.Timeout | undefined;
  const cut = (controller: ReadableStreamDefaultController): void => {
    gone.abort();
    disconnect();
    controller.close();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stall);
        next ??= frames.next();
        let result: IteratorResult<Frame> | undefined;
        try {
          result = await unlessQuiet(next, keepAliveMs);
        } catch (error) {
          if (gone.signal.aborted) return;
          onError(error);
          return cut(controller);
        }
        if (gone.signal.aborted) return;
        if (result?.done) return controller.close();
        if (result !== undefined) next = undefined;
        controller.enqueue(encoder.encode(result === undefined ? ": keep-alive\n\n" : format(result.value)));
        stall = setTimeout(cut, stallMs, controller).unref();
      },
      cancel() {
        clearTimeout(stall);
        gone.abort();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      ...headers,
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no", // nginx would collect the events
    },
  });
}

async function unlessQuiet<Value>(value: Promise<Value>, ms: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const quiet = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([value, quiet]);
  } finally {
    clearTimeout(timer);
  }
}

function format({ id, event, data }: Frame): string {
  const lines = data.split("\n").map((line) => `data: ${line}\n`);
  return `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}${lines.join("")}\n`;
}
