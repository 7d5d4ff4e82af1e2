import { textOf, toolCallsOf } from "../../../../providers/message.ts";
import { describeCall, factsOf, resultsOf, type ShownCall, titleOf } from "./describe-session.ts";
import type { ExportedSession } from "./exported-session.ts";

/** Renders the session as Markdown for GitHub: prompts as quotations, answers unchanged, calls folded. */
export function renderMarkdown(exported: ExportedSession): string {
  const { entries, isWhole, sanitise } = exported;
  const results = resultsOf(entries);
  const facts = factsOf(exported).map(([label, value]) => `- ${label}: ${inlineCode(value)}`);
  const messages = entries.flatMap(({ number, message }) => {
    if (message.role === "tool") return [];
    const text = sanitise(textOf(message)).trim();
    if (message.role === "user") return [`## ${number}. User`, quote(text === "" ? "(an image)" : text)];
    const calls = isWhole ? toolCallsOf(message).map((call) => describeCall(call, results, sanitise)) : [];
    const body = [...(text === "" ? [] : [text]), ...calls.map(renderCall)];
    return body.length === 0 ? [] : [`## ${number}. Hermes`, ...body];
  });
  return [`# ${titleOf(exported)}`, facts.join("\n"), ...messages].join("\n\n");
}

function renderCall({ tool, summary, input, result, isDiff, failed }: ShownCall): string {
  const label = `${escapeTags(tool)}${failed ? " (failed)" : ""} <code>${escapeTags(summary)}</code>`;
  return [
    `<details><summary>${label}</summary>`,
    fence(input, ""),
    ...(result === undefined ? ["No result."] : [fence(result, isDiff ? "diff" : "")]),
    "</details>",
  ].join("\n\n");
}

/** Puts the text into a fence that is longer than every fence in it. */
function fence(text: string, language: string): string {
  const runs = [...text.matchAll(/`{3,}/g)].map(([run]) => run.length);
  const marks = "`".repeat(Math.max(2, ...runs) + 1);
  return `${marks}${language}\n${text}\n${marks}`;
}

function inlineCode(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function quote(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

function escapeTags(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
