import type { Clock } from "../../lib/time/clock.ts";
import type { ModelEvent } from "../../providers/provider.ts";
import type { AgentEventOf } from "../events.ts";

type AnswerEnd = Extract<ModelEvent, { readonly type: "message-end" | "failed" }>;

const PROGRESS_MS = 15_000;
/** The longest a whole answer may take, as a multiple of the longest silence. */
const MAX_SILENCES = 5;

/**
 * Reads an answer to its end, and reports how long it takes. Returns undefined if the server is silent for `silenceMs` or
 * takes too long in total, even if the server ignores the abort, and if `signal` aborts.
 */
export async function* readAnswer(
  open: (signal: AbortSignal) => AsyncIterable<ModelEvent>,
  { silenceMs, clock }: { readonly silenceMs: number; readonly clock: Clock },
  signal: AbortSignal,
): AsyncGenerator<AgentEventOf<"notice">, AnswerEnd | undefined> {
  const ended = new AbortController();
  const startedAt = clock.now();
  let heardAt = startedAt;
  const stopped = new Promise<"stopped">((resolve) => {
    if (signal.aborted) resolve("stopped");
    signal.addEventListener("abort", () => resolve("stopped"), { once: true, signal: ended.signal });
  });
  const wait = (): Promise<"waited"> =>
    clock.sleep(Math.min(PROGRESS_MS, silenceMs), ended.signal).then(
      () => "waited",
      () => "waited",
    );
  const events = open(AbortSignal.any([signal, ended.signal]))[Symbol.asyncIterator]();
  try {
    let next = events.next();
    let waiting = wait();
    for (;;) {
      const first = await Promise.race([next, waiting, stopped]);
      if (first === "stopped") return undefined;
      const now = clock.now();
      if (first === "waited") {
        if (now - heardAt >= silenceMs || now - startedAt >= MAX_SILENCES * silenceMs) return undefined;
        yield { type: "notice", text: `Still compacting the conversation (${seconds(now - startedAt)} s).` };
        waiting = wait();
        continue;
      }
      if (first.done) return undefined;
      const event = first.value;
      if (event.type === "message-end" || event.type === "failed") return event;
      heardAt = now;
      next = events.next();
    }
  } finally {
    ended.abort();
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}
