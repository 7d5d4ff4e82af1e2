import type { AgentEvent } from "../../agent/events.ts";
import { NO_USAGE } from "../../providers/provider.ts";
import type { ChatState, Update } from "./state/chat-state.ts";
import { updateByEvent } from "./state/update-by-event.ts";

export interface ShellCommandParts {
  state(): ChatState;
  apply(update: Update): void;
  run(command: string, onEvent: (event: AgentEvent) => void): Promise<void>;
}

type Outcome = "completed" | "stopped" | "failed";

/** Runs `!command`. If no turn is running, the command is treated as one: it can be stopped, and messages typed meanwhile are queued. */
export async function runShellCommand(command: string, parts: ShellCommandParts): Promise<void> {
  const { state, apply, run } = parts;
  const actsAsTurn = state().turn === undefined;
  let outcome: Outcome = "completed";
  try {
    await run(command, (event) => {
      if (event.type === "tool-end" && event.outcome === "stopped") outcome = "stopped";
      apply(updateByEvent(state(), event, Date.now()));
    });
  } finally {
    if (actsAsTurn && state().turn !== undefined) apply(updateByEvent(state(), endOf(outcome), Date.now()));
  }
}

function endOf(outcome: Outcome): AgentEvent {
  const nothing = { text: "", reason: undefined, hint: undefined, costUsd: undefined };
  return { type: "turn-end", turnId: "", outcome, requests: 0, usage: NO_USAGE, ...nothing };
}
