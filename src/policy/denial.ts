import type { DecisionStep } from "./decision.ts";

/** What the model may do after a denial, by the step that denied the call. */
const NEXT: Partial<Readonly<Record<DecisionStep, string>>> = {
  "plan-mode":
    "Read and search instead, and answer with a plan. The user approves it before anything is changed.",
  taint:
    "The conversation contains untrusted text, so the user decides about such calls. Tell the user what you would send, read or change, and why.",
  sudo: "Tell the user which command needs the password, so that the user can run it.",
  "own-processes": "Tell the user what should be stopped or restarted, so that the user can do it.",
};

/** The result of a call that was not allowed. It is explicit, because models treat a vague refusal as a glitch and work around it. */
export function formatDenial(reason: string, step: DecisionStep): string {
  return [
    "executed: false",
    `reason: ${reason}`,
    "The user has not consented. Do not retry it, reword it, or reach the same result with another command, tool or script.",
    NEXT[step] ?? "Continue without it, or say what you would need and why.",
  ].join("\n");
}
