import type { AgentEventOf } from "../../../agent/events.ts";
import { environmentFacts, openAppConversation, openAppEnvironments } from "../../../app.ts";
import type { OpenConversation } from "../../../conversation/open-conversation.ts";
import { AppError } from "../../../lib/errors.ts";
import { writeFileAtomic } from "../../../lib/files.ts";
import type { CommandContext } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { readTask } from "./read-task.ts";
import { TURN_EXIT_CODES } from "./turn-exit-codes.ts";
import { createJsonView, createQuietView, createWatchView, type View } from "./view.ts";

export interface RunOptions {
  readonly oneshot?: string;
  readonly query?: string;
  readonly queryFile?: string;
  readonly continue?: true | string;
  readonly resume?: string;
  readonly model?: string;
  readonly maxTurns?: number;
  readonly runBudget?: number;
  readonly maxCost?: number;
  readonly usageFile?: string;
  readonly json?: boolean;
}

/** One message and its answer. */
export async function runOnce(
  context: CommandContext,
  input: "-" | undefined,
  options: RunOptions,
): Promise<void> {
  const { terminal, variables, userHome, signal } = context;
  const [task, app] = await Promise.all([readTask(options, input, terminal, signal), startApp(context)]);
  const tell = (text: string): void => terminal.note(`hermes: ${text}`);
  const cwd = process.cwd();
  await using environments = await openAppEnvironments(tell, signal);
  await using conversation = await openAppConversation(
    app,
    {
      environments,
      environment: environmentFacts(app, {
        cwd,
        variables,
        userHome,
        reporter: { onNotice: tell, onProgress: tell },
      }),
      choice: { continue: options.continue, resume: options.resume },
      model: { model: options.model },
      surface: { ...SURFACE, showsText: options.oneshot === undefined && options.json !== true },
    },
    signal,
  );
  const view = viewFor(context, options, conversation);
  const { agent } = app.resolved.config;
  const limits = {
    maxRequests: options.maxTurns ?? agent.max_turns ?? undefined,
    maxSeconds: options.runBudget ?? agent.run_budget_seconds ?? undefined,
    maxCostUsd: options.maxCost ?? agent.max_cost_usd ?? undefined,
  };
  if (limits.maxCostUsd !== undefined && !conversation.model.isPriced)
    tell(`The price of ${conversation.model.name} is not known, so its cost cannot be limited.`);
  let end: AgentEventOf<"turn-end"> | undefined;
  const message = { role: "user", parts: [{ type: "text", text: task }] } as const;
  for await (const event of conversation.say(message, limits, signal)) {
    view.show(event);
    if (event.type === "turn-end") end = event;
  }
  if (options.usageFile !== undefined) await writeUsage(options.usageFile, conversation, end);
  if (end === undefined) throw new AppError("turn-failed", "The turn ended without an answer.");
  view.end(end);
  context.exit(TURN_EXIT_CODES[end.outcome]);
}

/** What the model is told of a single run. */
export const SURFACE = {
  source: "oneshot",
  words:
    "This is a single run: nobody can answer questions, so decide for yourself and say what you assumed.",
  ask: undefined,
  canNotify: false,
  takesNotes: false,
  haltsLoops: false,
  showsText: false,
} as const;

function viewFor(
  { terminal }: CommandContext,
  { json, oneshot }: RunOptions,
  conversation: OpenConversation,
): View {
  if (json) return createJsonView(terminal, conversation);
  const isQuiet = oneshot !== undefined;
  return isQuiet ? createQuietView(terminal) : createWatchView(terminal, conversation);
}

async function writeUsage(
  path: string,
  { sessionId, model }: OpenConversation,
  end: AgentEventOf<"turn-end"> | undefined,
): Promise<void> {
  const usage = {
    session_id: sessionId,
    provider: model.provider,
    model: model.name,
    outcome: end?.outcome ?? "failed",
    requests: end?.requests ?? 0,
    input_tokens: end?.usage.inputTokens ?? null,
    cache_read_tokens: end?.usage.cacheReadTokens ?? null,
    cache_write_tokens: end?.usage.cacheWriteTokens ?? null,
    output_tokens: end?.usage.outputTokens ?? null,
    reasoning_tokens: end?.usage.reasoningTokens ?? null,
    cost_usd: end?.costUsd ?? null,
  };
  await writeFileAtomic(path, `${JSON.stringify(usage, undefined, 2)}\n`);
}
