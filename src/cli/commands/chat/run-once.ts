import { join } from "node:path";
import type { AgentEvent, AgentEventOf } from "../../../agent/events.ts";
import type { TurnLimits } from "../../../agent/loop.ts";
import { addCost } from "../../../agent/usage.ts";
import { type App, environmentFacts, openAppConversation, openAppEnvironments } from "../../../app.ts";
import { readImage } from "../../../board/worker/find-images.ts";
import { logEvent } from "../../../conversation/log-event.ts";
import { AppError } from "../../../lib/errors.ts";
import { requireWritable, writeFileAtomic } from "../../../lib/files.ts";
import { type ImagePart, textOf, type UserMessage } from "../../../providers/message.ts";
import type { ReasoningEffort } from "../../../providers/provider.ts";
import { addUsage } from "../../../providers/provider.ts";
import { TOOLSETS } from "../../../tools/tool-table.ts";
import type { CommandContext } from "../../context.ts";
import { currentFolder } from "../../current-folder.ts";
import { startApp } from "../../start-app.ts";
import { leadsNowhere } from "./leads-nowhere.ts";
import { loadOutputSchema, type OutputSchema } from "./output-schema.ts";
import { readTask } from "./read-task.ts";
import { type RunResult, usageFields } from "./run-result.ts";
import { openTemporaryFolder } from "./temporary-folder.ts";
import { TURN_EXIT_CODES } from "./turn-exit-codes.ts";
import {
  createEventsView,
  createQuietView,
  createSummaryView,
  createWatchView,
  type Run,
  type View,
} from "./view.ts";

export type OutputFormat = "text" | "json" | "events";

export interface RunOptions {
  readonly oneshot?: string;
  readonly query?: string;
  readonly queryFile?: string;
  readonly image?: readonly string[];
  readonly continue?: true | string;
  readonly resume?: string;
  /** False after `--no-session`. */
  readonly session?: boolean;
  readonly model?: string;
  readonly provider?: string;
  readonly reasoning?: ReasoningEffort;
  readonly toolsets?: readonly string[];
  readonly appendSystemPrompt?: string;
  readonly maxTurns?: number;
  readonly runBudget?: number;
  readonly maxCost?: number;
  readonly usageFile?: string;
  readonly outputSchema?: string;
  readonly outputLastMessage?: string;
  readonly outputFormat?: OutputFormat;
  readonly json?: boolean;
}

/** `unfit`: the answer never matched the output schema. */
const EXIT_CODES = { ...TURN_EXIT_CODES, unfit: 6 } as const;

/** How often the model may answer until its answer matches the output schema. */
const MOST_ANSWERS = 3;
const KNOWN_TOOLSETS: readonly string[] = TOOLSETS;

/** One message and its answer. */
export async function runOnce(
  context: CommandContext,
  input: "-" | undefined,
  options: RunOptions,
): Promise<void> {
  const { terminal, variables, userHome, signal } = context;
  const startedAt = performance.now();
  const [app, images, schema, log] = await Promise.all([
    startApp(context),
    Promise.all((options.image ?? []).map(requireImage)),
    options.outputSchema === undefined ? undefined : loadOutputSchema(options.outputSchema),
    context.log(),
    // Known before anything is asked and paid for.
    ...[options.outputLastMessage, options.usageFile].map((path) =>
      path === undefined ? undefined : requireWritable(path),
    ),
  ]);
  requireFitting(options, app);
  // Not before: whoever pipes in for minutes is not told only then that all of it was in vain.
  const task = await readTask(options, input, terminal, signal);
  const tell = (text: string): void => terminal.note(`hermes: ${text}`);
  const cwd = currentFolder();
  await using folder = options.session === false ? await openTemporaryFolder(signal) : undefined;
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
      model: { model: options.model, provider: options.provider },
      surface: surfaceOf(options),
      reasoningEffort: options.reasoning,
      sessionsPath: folder && join(folder.path, "sessions.sqlite"),
    },
    signal,
  );
  const ofSession = log.child({ component: "agent", session: conversation.sessionId });
  const { model, isResumed } = conversation;
  // One that goes with its folder is none that anybody could name later.
  const sessionId = options.session === false ? undefined : conversation.sessionId;
  const run = { sessionId, model, isResumed };
  using view = viewFor(context, options, run);
  const limits = limitsOf(options, app);
  const say = async (message: UserMessage, within: TurnLimits): Promise<AgentEventOf<"turn-end">> => {
    let isOnlyThought = false;
    for await (const said of conversation.say(message, within, signal)) {
      const event = withNextCommand(said, conversation.sessionId, options);
      logEvent(ofSession, event);
      view.show(event);
      if (event.type === "assistant") isOnlyThought = textOf(event.message).trim() === "";
      // JSON that the model was only thinking of is not its answer.
      if (event.type === "turn-end") return schema && isOnlyThought ? { ...event, text: "" } : event;
    }
    throw new AppError("turn-failed", "The turn ended without an answer.");
  };
  const result = await runUntilFit(say, messageOf(task, images, schema), limits, schema, startedAt);
  if (options.usageFile !== undefined) await writeUsage(options.usageFile, run, result.end);
  if (options.outputLastMessage !== undefined)
    await writeFileAtomic(options.outputLastMessage, `${result.text || result.end.text}\n`);
  view.end(result);
  if (options.outputLastMessage === undefined && leadsNowhere(1)) {
    const place = sessionId === undefined ? "is lost" : `is in \`hermes sessions show ${sessionId}\` only`;
    tell(`standard output leads nowhere, so the answer ${place}.`);
  }
  context.exit(EXIT_CODES[result.outcome]);
}

/** Nobody sits in front of a single run: what goes on with it is another command. */
function withNextCommand(event: AgentEvent, sessionId: string, { session }: RunOptions): AgentEvent {
  if (event.type !== "turn-end" || event.outcome !== "stopped") return event;
  const hint = session === false ? "Run it again." : `Go on with: hermes -r ${sessionId} -z "go on"`;
  return { ...event, hint };
}

/** Says the message, and again what was wrong with the answer while it does not match the schema; counts all of it. */
async function runUntilFit(
  say: (message: UserMessage, limits: TurnLimits) => Promise<AgentEventOf<"turn-end">>,
  message: UserMessage,
  limits: TurnLimits,
  schema: OutputSchema | undefined,
  startedAt: number,
): Promise<RunResult> {
  let end = await say(message, limits);
  for (let answers = 1; ; answers++) {
    const durationMs = Math.round(performance.now() - startedAt);
    const { outcome, text } = end;
    if (schema === undefined || outcome !== "completed") return { end, outcome, text, durationMs };
    const checked = schema.check(text);
    if ("json" in checked) return { end, outcome, text: checked.json, json: checked.json, durationMs };
    const left = leftOf(limits, end, durationMs / 1_000);
    const isSpent = [left.maxRequests, left.maxSeconds, left.maxCostUsd].some((amount) => (amount ?? 1) <= 0);
    if (answers === MOST_ANSWERS || isSpent) {
      const reason = `The answer does not match the output schema: ${checked.problem}.`;
      const hint = isSpent
        ? "A limit was reached before the next try."
        : `It was asked for ${answers} times.`;
      const outcome = isSpent ? "budget" : "unfit";
      return { end: { ...end, reason, hint }, outcome, text: "", durationMs };
    }
    const next = await say(
      userMessage(`Your answer does not match the JSON Schema: ${checked.problem}. ${schema.words}`),
      left,
    );
    end = {
      ...next,
      requests: end.requests + next.requests,
      usage: addUsage(end.usage, next.usage),
      costUsd: addCost(end.costUsd, next.costUsd),
    };
  }
}

function leftOf(limits: TurnLimits, end: AgentEventOf<"turn-end">, seconds: number): TurnLimits {
  const minus = (limit: number | undefined, used: number): number | undefined =>
    limit === undefined ? undefined : limit - used;
  return {
    maxRequests: minus(limits.maxRequests, end.requests),
    maxSeconds: minus(limits.maxSeconds, seconds),
    maxCostUsd: minus(limits.maxCostUsd, end.costUsd ?? 0),
  };
}

function limitsOf({ maxTurns, runBudget, maxCost }: RunOptions, { resolved }: App): TurnLimits {
  const { agent } = resolved.config;
  return {
    maxRequests: maxTurns ?? agent.max_turns ?? undefined,
    maxSeconds: runBudget ?? agent.run_budget_seconds ?? undefined,
    maxCostUsd: maxCost ?? agent.max_cost_usd ?? undefined,
  };
}

/** Refuses options that cannot be obeyed together. */
function requireFitting(options: RunOptions, { resolved }: App): void {
  const goesOn = options.continue !== undefined || options.resume !== undefined;
  const refuse = (message: string, hint: string): AppError => new AppError("usage-wrong", message, { hint });
  if (goesOn && options.session === false)
    throw refuse("--no-session cannot go on with a session.", "Leave out -c, -r or --no-session.");
  if (goesOn && (options.appendSystemPrompt ?? options.toolsets) !== undefined)
    throw refuse(
      "A session keeps the system prompt and the tools that it began with.",
      "Use --append-system-prompt and --toolsets with a new session.",
    );
  if (options.session === false && resolved.config.agent.max_daily_cost_usd !== null)
    throw refuse(
      "--no-session would not be counted by agent.max_daily_cost_usd.",
      "Leave out --no-session, or remove that limit.",
    );
  if (options.json && (options.outputFormat ?? "events") !== "events")
    throw refuse(
      `--json means --output-format events, not ${options.outputFormat}.`,
      "Leave out one of the two.",
    );
  const wrong = options.toolsets?.find((name) => !KNOWN_TOOLSETS.includes(name));
  if (wrong !== undefined)
    throw refuse(`There is no toolset ${wrong}.`, `Use some of ${TOOLSETS.join(", ")}.`);
}

async function requireImage(path: string): Promise<ImagePart> {
  const image = await readImage(path);
  if (!("problem" in image)) return image;
  throw new AppError("file-unreadable", `${path} cannot be sent as a picture: ${image.problem}.`, {
    hint: "Give a PNG, JPEG, GIF or WebP file of at most 5 MB.",
  });
}

function messageOf(
  task: string,
  images: readonly ImagePart[],
  schema: OutputSchema | undefined,
): UserMessage {
  const { parts, ...message } = userMessage(task, images);
  // A part of its own: lists show how a session begins, and that is what the person said.
  const asked = schema === undefined ? [] : [{ type: "text", text: `\n\n${schema.words}` } as const];
  return { ...message, parts: [...parts, ...asked] };
}

function userMessage(text: string, images: readonly ImagePart[] = []): UserMessage {
  return { role: "user", parts: [{ type: "text", text }, ...images] };
}

/** What the model is told of a single run. */
export const SURFACE = {
  source: "oneshot",
  words:
    "This is a single run: nobody can answer questions, so decide for yourself and say what you assumed.",
  ask: undefined,
  canNotify: false,
  takesNotes: false,
  haltsLoops: true,
  showsText: false,
} as const;

function surfaceOf(options: RunOptions) {
  const { appendSystemPrompt, toolsets, session } = options;
  const words =
    appendSystemPrompt === undefined ? SURFACE.words : `${SURFACE.words}\n\n${appendSystemPrompt}`;
  // There are no other sessions where this one is kept.
  const without = session === false ? ["session_search"] : [];
  const wanted = (toolsets ?? KNOWN_TOOLSETS).filter((name) => !without.includes(name));
  const isWatched = formatOf(options) === "watch";
  return { ...SURFACE, words, toolsets: wanted, showsText: isWatched, haltsLoops: !isWatched };
}

function viewFor({ terminal }: CommandContext, options: RunOptions, run: Run): View {
  switch (formatOf(options)) {
    case "events":
      return createEventsView(terminal, run);
    case "json":
      return createSummaryView(terminal, run);
    case "quiet":
      return createQuietView(terminal);
    case "watch":
      return createWatchView(terminal, run);
  }
}

/** A person watches `chat -q`; an answer that has to match a schema is shown when it does. */
function formatOf({
  json,
  outputFormat,
  outputSchema,
  oneshot,
}: RunOptions): "events" | "json" | "quiet" | "watch" {
  if (json || outputFormat === "events") return "events";
  if (outputFormat === "json") return "json";
  return oneshot !== undefined || outputSchema !== undefined ? "quiet" : "watch";
}

async function writeUsage(
  path: string,
  { sessionId, model }: Run,
  end: AgentEventOf<"turn-end">,
): Promise<void> {
  const usage = {
    session_id: sessionId ?? null,
    provider: model.provider,
    model: model.name,
    outcome: end.outcome,
    ...usageFields(end),
  };
  await writeFileAtomic(path, `${JSON.stringify(usage, undefined, 2)}\n`);
}
