import type { AgentEventOf } from "../../../agent/events.ts";
import { parseObject } from "../../../agent/main-argument.ts";

type ToolEnd = Pick<AgentEventOf<"tool-end">, "tool" | "text" | "display" | "outcome" | "denied">;

/** What the person sees of a result: the diff of a change, the output of a command. */
export function bodyOfResult({ tool, text, display }: ToolEnd): string {
  if (display !== undefined) return display.trimEnd();
  if (tool !== "terminal") return "";
  if (text.startsWith("{")) return describeJob(text) ?? text;
  const end = text.indexOf("\n\n");
  return (end === -1 ? (/^error: (.*)$/m.exec(text)?.[1] ?? "") : text.slice(end + 2)).trimEnd();
}

/** A command that was started in the background. */
function describeJob(text: string): string | undefined {
  const { session_id: id, status, notes } = parseObject(text);
  if (typeof id !== "string" || status !== "running") return undefined;
  const said = Array.isArray(notes) ? notes.filter((note) => typeof note === "string") : [];
  return [`runs in the background: /jobs ${id}`, ...said].join("\n");
}

/** The end of a call in a few words. */
export function summaryOfResult({ tool, text, outcome, denied, display }: ToolEnd): string {
  if (denied !== undefined) return `not run: ${denied.decision.reason}`;
  if (outcome === "not-run") return "not run";
  if (outcome === "stopped" || outcome === "unknown") return outcome;
  if (tool === "terminal") {
    const [facts = ""] = text.split("\n\n", 1);
    if (/^status: running$/m.test(facts)) return "goes on in the background until it or the chat ends";
    const code = /^"?exit_code"?: (-?\d+)/m.exec(text)?.[1];
    return code === undefined || code === "0" ? "" : `exit ${code}`;
  }
  if (outcome === "failed") return firstLine(text);
  if (display !== undefined) return changeSize(display);
  const lines = text === "" ? 0 : text.split("\n").length;
  return lines === 1 ? "1 line" : `${lines} lines`;
}

function changeSize(diff: string): string {
  const count = (pattern: RegExp): number => diff.split("\n").filter((line) => pattern.test(line)).length;
  return `+${count(/^\+(?!\+\+)/)} −${count(/^-(?!--)/)}`;
}

function firstLine(text: string): string {
  const value = parseObject(text)["error"];
  const words = typeof value === "string" ? value : text;
  return words.split("\n")[0]?.slice(0, 200) ?? "";
}
