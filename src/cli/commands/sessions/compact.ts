import { compactAppSession } from "../../../app/conversation.ts";
import { createEnvironmentFacts } from "../../../app/environments/environments.ts";
import type { SessionCompaction } from "../../../conversation/compact-session.ts";
import type { CommandContext } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { currentFolder } from "../../terminal/current-folder.ts";
import { formatCompaction } from "../../terminal/event-view.ts";
import { printFields } from "../../terminal/table.ts";
import { requireSession, requireStore } from "./require-session.ts";

interface CompactOptions {
  readonly preview?: boolean;
  readonly focus?: string;
  readonly json?: boolean;
}

export async function compactSession(
  context: CommandContext,
  which: string,
  { preview = false, focus, json }: CompactOptions,
): Promise<void> {
  const { terminal, reporter, signal } = context;
  const app = await startApp(context);
  const found = await compactAppSession(
    app,
    {
      sessionId: await findId(context, which),
      focus,
      isPreview: preview,
      environment: createEnvironmentFacts(app, { cwd: currentFolder(), reporter }),
      onEvent(event) {
        if (event.type === "notice") terminal.note(`hermes: ${event.text}`);
        if (event.type === "compaction-start") terminal.note(`hermes: ${formatCompaction(event)}`);
      },
    },
    signal,
  );
  if (json) return terminal.printJson(toJson(found));
  const { sessionId, done, tokens, windowTokens, summarized, kept } = found;
  printFields(terminal, [
    ["session", sessionId],
    ["window", windowTokens === undefined ? "unknown" : `${windowTokens} tokens`],
    ["tokens", done === undefined ? `about ${tokens}` : `about ${tokens} before, ${done.tokensAfter} after`],
    ["messages", `${summarized} ${done === undefined ? "would be " : ""}summarised, ${kept} kept`],
    ["cost", done?.costUsd === undefined ? "" : `$${done.costUsd.toFixed(4)}`],
  ]);
  if (done === undefined) terminal.note("Nothing was changed. Omit --preview to compact the session.");
  else terminal.note("The full text stays stored: see `hermes sessions show` and `hermes sessions search`.");
}

async function findId(context: CommandContext, which: string): Promise<string> {
  using store = await requireStore(context); // reports a missing store without creating it
  return requireSession(store, which).id;
}

function toJson({ done, ...facts }: SessionCompaction): object {
  const { type: _, ...event } = done ?? { type: undefined };
  return { compacted: done !== undefined, ...facts, ...event };
}
