import { expect, test } from "vitest";
import { createEventStream, type Frame } from "./event-stream.ts";

const TIMES = { keepAliveMs: 30_000, stallMs: 120_000 };

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
  const body = createEventStream(open, {}, TIMES).body?.getReader();
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
  const reader = readerOf(createEventStream(open, {}, { ...TIMES, keepAliveMs: 1 }));
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
  const reader = createEventStream(open, {}, { ...TIMES, stallMs: 1 }).body?.getReader();
  await reader?.read();
  await new Promise((resolve) => state.signal.addEventListener("abort", resolve, { once: true }));
  await expect(reader?.read()).rejects.toThrow("stopped reading");
});
