import type { Api } from "./api.ts";
import { problemOf } from "./problem.ts";

/** One event of the server. */
export interface LiveEvent {
  /** Its position, `EPOCH.SEQUENCE`; empty for an event of the stream itself. */
  readonly id: string;
  readonly name: string;
  /** Null for an event of the stream itself. */
  readonly topic: string | null;
  readonly data: unknown;
}

export interface StreamRequest {
  /** Chosen by the page, which uses it to change the topics of the stream. */
  readonly name: string;
  readonly after: string | undefined;
  readonly topics: readonly string[];
}

/** Reads the event stream until it ends; throws a `Problem` when the server refuses it. */
export async function readStream(
  api: Api,
  { name, after, topics }: StreamRequest,
  onEvent: (event: LiveEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const url = api.url("events");
  url.searchParams.set("stream", name);
  if (after) url.searchParams.set("after", after);
  if (topics.length > 0) url.searchParams.set("topics", topics.join(" "));
  const response = await fetch(url, {
    headers: { Accept: "text/event-stream" },
    credentials: "same-origin",
    cache: "no-store",
    signal,
  });
  if (!response.ok || !response.body) throw await problemOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parse = createEventParser(onEvent);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parse(value);
  }
}

/** Returns a function that takes pieces of text of any size and reports each complete event. */
export function createEventParser(onEvent: (event: LiveEvent) => void): (text: string) => void {
  let rest = "";
  let event = { id: "", name: "", data: "" };
  const line = (text: string): void => {
    if (text === "") {
      if (event.data !== "") {
        const { topic = null, data } = JSON.parse(event.data) as { topic?: string | null; data: unknown };
        onEvent({ id: event.id, name: event.name, topic, data });
      }
      event = { id: "", name: "", data: "" };
      return;
    }
    const colon = text.indexOf(":");
    const field = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? "" : text.slice(colon + 1).replace(/^ /, "");
    if (field === "id") event.id = value;
    else if (field === "event") event.name = value;
    else if (field === "data") event.data += event.data === "" ? value : `\n${value}`;
  };
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r/);
    rest = lines.pop() ?? "";
    for (const each of lines) line(each);
  };
}

/** Whether a position is newer than another; true if they have different epochs. */
export function isNewer(position: string, than: string): boolean {
  const [epoch, sequence] = position.split(".");
  const [otherEpoch, otherSequence] = than.split(".");
  return epoch !== otherEpoch || Number(sequence) > Number(otherSequence);
}
