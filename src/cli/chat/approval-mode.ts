import type { PolicyState } from "../../policy/policy.ts";
import type { ChatMode } from "./state/chat-state.ts";

/** The modes in the order in which the key cycles through them. Yolo is left out, so that a slip cannot turn it on. */
const MODES: readonly ChatMode[] = ["asks", "smart", "plan"];

/** The mode as the status line shows it. */
export function modeOf({ mode, isYolo, isPlanning }: PolicyState): ChatMode {
  if (isPlanning) return "plan";
  if (isYolo) return "YOLO";
  return mode === "manual" ? "asks" : mode;
}

/** The change of the policy that selects the next mode. */
export function nextMode(policy: PolicyState): Partial<PolicyState> {
  const next = MODES[(MODES.indexOf(modeOf(policy)) + 1) % MODES.length];
  return {
    ...{ isPlanning: next === "plan", isYolo: false },
    ...(next === "smart" && { mode: "smart" }),
    ...(next === "asks" && { mode: "manual" }),
  };
}
