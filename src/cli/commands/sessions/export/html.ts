import { formatTime } from "../../../../lib/time/format-time.ts";
import {
  type AssistantMessage,
  type ImagePart,
  toolCallsOf,
  type UserMessage,
} from "../../../../providers/message.ts";
import type { TranscriptEntry } from "../../../../sessions/transcript.ts";
import { describeCall, factsOf, resultsOf, type ShownCall, titleOf } from "./describe-session.ts";
import type { ExportedSession } from "./exported-session.ts";
import { PAGE_STYLE } from "./page-style.ts";
import { escapeHtml, renderDiff, renderMarkdownAsHtml, renderPlain } from "./safe-html.ts";

// No script runs and nothing is loaded, whatever the session contains.
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const PICTURE = /^image\/(?:png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]*=*$/;

/** Renders the session as one HTML page that needs no other file, no script and no network. */
export function renderHtml(exported: ExportedSession): string {
  const title = escapeHtml(titleOf(exported));
  const facts = factsOf(exported).map(
    ([label, value]) => `<div><dt>${label}</dt><dd>${escapeHtml(value)}</dd></div>`,
  );
  const results = resultsOf(exported.entries);
  const messages = exported.entries.map((entry) => renderEntry(entry, exported, results));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<dl>${facts.join("")}</dl>
</header>
<main>
${messages.filter((html) => html !== "").join("\n")}
</main>
</body>
</html>`;
}

function renderEntry(
  { number, createdAt, message }: TranscriptEntry,
  { isWhole, sanitise }: ExportedSession,
  results: ReturnType<typeof resultsOf>,
): string {
  if (message.role === "tool") return "";
  const calls =
    message.role === "user" || !isWhole
      ? []
      : toolCallsOf(message).map((call) => renderCall(describeCall(call, results, sanitise)));
  const parts = message.parts.map((part) => renderPart(part, message.role, isWhole, sanitise));
  const body = [...parts, ...calls].join("");
  if (body === "") return "";
  const name = message.role === "user" ? "User" : "Hermes";
  return `<article class="${message.role}" id="m${number}">
<h2><a href="#m${number}">#${number}</a> ${name} <time>${formatTime(createdAt)}</time></h2>
${body}
</article>`;
}

function renderPart(
  part: (UserMessage | AssistantMessage)["parts"][number],
  role: "user" | "assistant",
  isWhole: boolean,
  show: ExportedSession["sanitise"],
): string {
  if (part.type === "image") return renderPicture(part);
  if (part.type === "tool-call" || part.text.trim() === "") return "";
  const text = show(part.text);
  if (part.type === "text") return role === "user" ? renderPlain(text) : renderMarkdownAsHtml(text);
  return isWhole ? `<details class="thought"><summary>Reasoning</summary>${renderPlain(text)}</details>` : "";
}

function renderPicture({ mediaType, data }: ImagePart): string {
  if (!PICTURE.test(mediaType) || !BASE64.test(data)) return renderPlain("(an image that cannot be shown)");
  return `<img alt="attached image" src="data:${mediaType};base64,${data}">`;
}

function renderCall({ tool, summary, input, result, isDiff, failed }: ShownCall): string {
  const label = `<b>${escapeHtml(tool)}</b> <code>${escapeHtml(summary)}</code>`;
  const shown =
    result === undefined
      ? "<p>No result.</p>"
      : `<pre><code>${isDiff ? renderDiff(result) : escapeHtml(result)}</code></pre>`;
  return `<details class="call${failed ? " failed" : ""}"><summary>${label}${failed ? " <i>failed</i>" : ""}</summary><pre class="input"><code>${escapeHtml(input)}</code></pre>${shown}</details>`;
}
