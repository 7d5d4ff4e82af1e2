import type { Surface } from "../../conversation/conversation-request.ts";
import type { FileSending } from "../../tools/tool-parts.ts";
import type { Capabilities } from "../platform.ts";

/** What the model is told about a platform, and how its sessions behave. */
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
    whenAsked: "ask",
    titledBy: "message",
    toolsets,
    fileSending,
  };
}
