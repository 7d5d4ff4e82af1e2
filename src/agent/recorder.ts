import type { AgentEvent } from "./events.ts";

/** Hands events on, each only after `commit` has it. When that fails, the turn ends there, and whatever it runs with it. */
export async function* recorded(
  events: AsyncIterable<AgentEvent>,
  commit: (event: AgentEvent) => Promise<void> | undefined,
): AsyncGenerator<AgentEvent> {
  for await (const event of events) {
    await commit(event);
    yield event;
  }
}
