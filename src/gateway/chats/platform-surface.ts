import type { Surface } from "../../conversation/conversation-request.ts";
import type { FileSending } from "../../tools/tool-parts.ts";
import type { Capabilities } from "../platform.ts";

/** The instructions for sessions of a platform, and how they behave. */
export function surfaceOf(
  name: string,
  label: string,
  { markdown, maxTextLength }: Pick<Capabilities, "markdown" | "maxTextLength">,
  toolsets: readonly string[] | undefined,
  fileSending: FileSending | undefined,
): Surface {
  const format =
    markdown === "rendered"
      ? "Your answers are shown as markdown."
      : "Write plain text: markdown is not shown as such.";
  const length = maxTextLength < 1_000 ? " Keep answers short: long ones arrive in many pieces." : "";
  return {
    source: name,
    instructions: `You are talking to people on ${label}. ${format}${length}`,
    canNotify: false,
    takesNotes: true,
    haltsLoops: true,
    showsText: false,
    whenApprovalNeeded: "ask",
    titledBy: "message",
    toolsets,
    fileSending,
  };
}
