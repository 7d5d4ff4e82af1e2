import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextRound } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { expect, test, vi } from "vitest";
import { createEventStream, type Frame } from "./event-stream.ts";

const TIMES = { keepAliveMs: 30_000, stallMs: 120_000 };

/** What a stream works with, and what it did with it. */
function streamParts(times: Partial<typeof TIMES> = {}) {
  const done = { cuts: 0, errors: [] as unknown[] };
  const parts = {
    times: { ...TIMES, ...times },
    disconnect: () => void done.cuts++,
    onError: (error: unknown) => void done.errors.push(error),
  };
  return { parts, done };
}

/** Frames without end, and how many of them were asked for. */
function countedFrames() {
  const state = { asked: 0, signal: AbortSignal.abort() };
  const open = async function* (signal: AbortSignal): AsyncGenerator<Frame> {
    state.signal = signal;
    while (!signal.aborted) yield { id: `${++state.asked}`, data: "x" };
  };
  return { open, state };
}
const readerOf = (response: Response) => {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) throw new Error("the response has no body");
  return reader;
};

test("a frame is only asked for when the client reads", async () => {
  const { open, state } = countedFrames();
  const body = createEventStream(open, {}, streamParts().parts).body?.getReader();
  expect(state.asked).toBe(0);
  await body?.read();
  await body?.read();
  expect(state.asked).toBe(2);
  await body?.cancel();
  expect(state.signal.aborted).toBe(true);
});

test("a quiet stream gets comments, and the next frame is not lost", async () => {
  let send = (_: Frame): void => undefined;
  const frame = new Promise<Frame>((resolve) => {
    send = resolve;
  });
  const open = async function* (): AsyncGenerator<Frame> {
    yield await frame;
  };
  const reader = readerOf(createEventStream(open, {}, streamParts({ keepAliveMs: 1 }).parts));
  expect((await reader.read()).value).toBe(": keep-alive\n\n");
  send({ id: "1", event: "e", data: "two\nlines" });
  let value: string | undefined;
  do ({ value } = await reader.read());
  while (value === ": keep-alive\n\n");
  expect(value).toBe("id: 1\nevent: e\ndata: two\ndata: lines\n\n");
  expect((await reader.read()).done).toBe(true);
});

test("a client that stops reading is disconnected after a while", async () => {
  const { open, state } = countedFrames();
  const { parts, done } = streamParts({ stallMs: 1 });
  const reader = createEventStream(open, {}, parts).body?.getReader();
  await reader?.read();
  await new Promise((resolve) => state.signal.addEventListener("abort", resolve, { once: true }));
  expect(await reader?.read()).toMatchObject({ done: true });
  expect(done).toEqual({ cuts: 1, errors: [] });
});

test("a stream that fails cuts its connection and reports the error; the HTTP library prints nothing", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { parts, done } = streamParts();
  const failure = new Error("the frames failed");
  const open = async function* (): AsyncGenerator<Frame> {
    for (let frame = 0; frame < 5; frame++) {
      yield { data: "x" };
      await nextRound();
    }
    throw failure;
  };
  const listener = getRequestListener((_, { outgoing }) =>
    createEventStream(open, {}, { ...parts, disconnect: () => outgoing.destroy() }),
  );
  await using server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const reader = readerOf(await fetch(`http://127.0.0.1:${port}`));
  await expect(
    (async () => {
      while (!(await reader.read()).done);
    })(),
  ).rejects.toThrow();
  expect(done.errors).toEqual([failure]);
  expect(printed).not.toHaveBeenCalled();
  printed.mockRestore();
});
