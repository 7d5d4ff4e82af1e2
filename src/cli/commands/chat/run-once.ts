import { join, resolve } from "node:path";
import type { AgentEvent, AgentEventOf } from "../../../agent/events.ts";
import { addCost } from "../../../agent/request-cost.ts";
import type { TurnLimits } from "../../../agent/turn-limits.ts";
import type { App } from "../../../app/app.ts";
import { answerApproval, createPolicyState } from "../../../app/approvals.ts";
import { fetchImage, type LimitOptions, openAppConversation, turnLimits } from "../../../app/conversation.ts";
import { createEnvironmentFacts, openAppEnvironments } from "../../../app/environments/environments.ts";
import { openEventLog } from "../../../conversation/log-event.ts";
import { CARRY_OUT, PLAN_MODE } from "../../../conversation/prompt/plan-mode.ts";
import { AppError } from "../../../lib/errors.ts";
import { requireWritable, writeFileAtomic } from "../../../lib/files/files.ts";
import { IMAGE_HINT, readImage } from "../../../providers/image.ts";
import { type ImagePart, textOf, type UserMessage } from "../../../providers/message.ts";
import type { ReasoningEffort } from "../../../providers/provider.ts";
import { addUsage } from "../../../providers/provider.ts";
import { TOOLSETS } from "../../../tools/tool-table.ts";
import type { CommandContext } from "../../context.ts";
import { profileFlag } from "../../profile-flag.ts";
import { startApp } from "../../start-app.ts";
import { currentFolder } from "../../terminal/current-folder.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { createApprovalPrompt } from "./approval-prompt.ts";
import { isClosedAtStart } from "./closed-descriptor.ts";
import { loadOutputSchema, type OutputSchema } from "./output-schema.ts";
import { readTask, type Task } from "./read-task.ts";
import { RUN_EXIT_CODES } from "./run-exit-codes.ts";
import { describeRun, type RunResult, usageFields, VIEWS } from "./run-views.ts";
import { openTemporaryFolder } from "./temporary-folder.ts";

export type OutputFormat = "text" | "json" | "events";

export interface RunOptions extends LimitOptions {
  readonly oneshot?: string;
  readonly query?: string;
  readonly queryFile?: string;
  readonly image?: readonly string[];
  readonly continue?: true | string;
  readonly resume?: string;
  /** Limits the choice of the latest session to those of this folder. */
  readonly in?: string;
  /** Sends the last message of the resumed session again instead of a new one. */
  readonly retry?: boolean;
  /** False after `--no-session`. */
  readonly session?: boolean;
  readonly model?: string;
  readonly provider?: string;
  readonly reasoning?: ReasoningEffort;
  readonly toolsets?: readonly string[];
  readonly appendSystemPrompt?: string;
  /** False after `--no-context`. */
  readonly context?: boolean;
  readonly plan?: boolean;
  readonly yolo?: boolean;
  readonly screenReader?: boolean;
  readonly usageFile?: string;
  readonly outputSchema?: string;
  readonly outputLastMessage?: string;
  readonly outputFormat?: OutputFormat;
  readonly json?: boolean;
}

/** The maximum number of answers that are checked against the output schema. */
const MAX_ANSWERS = 3;
const KNOWN_TOOLSETS: readonly string[] = TOOLSETS;

/** Sends one message and prints its answer. */
export async function runOnce(
  context: CommandContext,
  input: "-" | undefined,
  options: RunOptions,
): Promise<void> {
  const { terminal, reporter, signal } = context;
  const startedAt = performance.now();
  const [app, schema, log] = await Promise.all([
    startApp(context),
    options.outputSchema === undefined ? undefined : loadOutputSchema(options.outputSchema),
    context.log(),
    // Checked before the first request, which costs money.
    ...[options.outputLastMessage, options.usageFile].map((path) =>
      path === undefined ? undefined : requireWritable(path),
    ),
  ]);
  requireCompatible(options, app);
  const images = await Promise.all((options.image ?? []).map((source) => requireImage(source, app, signal)));
  // Read after the checks, so that wrong options are reported before a long pipe is read.
  const task = options.retry
    ? undefined
    : await readTask(options, input, { terminal, secrets: app.resolved.secrets }, signal);
  await using folder = options.session === false ? await openTemporaryFolder(signal) : undefined;
  const policy = createPolicyState(app, options);
  const surface = surfaceOf(options, app, terminal);
  if (surface.whenApprovalNeeded === "deny" && app.resolved.config.approvals.single_query_mode === "ask")
    reporter.onNotice(
      "questions of a --no-session run cannot be answered, so calls that need approval are denied.",
    );
  await using environments = await openAppEnvironments(reporter.onNotice, signal);
  await using conversation = await openAppConversation(
    app,
    {
      environments,
      environment: createEnvironmentFacts(app, { cwd: currentFolder(), reporter }),
      choice: {
        continue: options.continue,
        resume: options.resume,
        cwd: options.in === undefined ? undefined : resolve(currentFolder(), options.in),
      },
      model: { model: options.model, provider: options.provider },
      surface,
      policy,
      reasoningEffort: options.reasoning,
      usesContextFiles: options.context,
      sessionsPath: folder && join(folder.path, "sessions.sqlite"),
    },
    signal,
  );
  using eventLog = openEventLog(log.child({ component: "agent", session: conversation.sessionId }));
  const { model, isResumed } = conversation;
  // A session in a temporary folder cannot be resumed, so its id is not reported.
  const sessionId = options.session === false ? undefined : conversation.sessionId;
  const run = { sessionId, model, isResumed };
  using view = VIEWS[formatOf(options)](terminal, run);
  const stop = new AbortController();
  const stopping = AbortSignal.any([signal, stop.signal]);
  const prompt = createApprovalPrompt(
    terminal,
    {
      answer: (id, choice) => answerApproval(app, conversation, id, choice, signal),
      stop: () => stop.abort(),
      isShared: options.session !== false,
    },
    signal,
  );
  const limits = turnLimits(app, options);
  const sendMessage = async (message: UserMessage, within: TurnLimits): Promise<AgentEventOf<"turn-end">> => {
    let hasOnlyReasoning = false;
    for await (const raw of conversation.runTurn(message, within, stopping)) {
      const event = withNextCommand(
        raw,
        `${profileFlag(context.flags.profile)}-r ${conversation.sessionId}`,
        options,
      );
      eventLog.add(event);
      view.show(event);
      prompt.show(event);
      if (event.type === "assistant") hasOnlyReasoning = textOf(event.message).trim() === "";
      // JSON in the reasoning of the model is not its answer.
      if (event.type === "turn-end") return schema && hasOnlyReasoning ? { ...event, text: "" } : event;
    }
    throw new AppError("turn-failed", "The turn ended without an answer.");
  };
  const compose = async ({ typed, text }: Task): Promise<UserMessage> => {
    const added = await conversation.loadParts(typed, images, stopping);
    return messageOf(text, added, schema, options);
  };
  const first = task === undefined ? await conversation.undoLastTurn(signal) : await compose(task);
  let result = await runUntilMatch(sendMessage, first, limits, schema, startedAt);
  const answer =
    options.plan && result.outcome === "completed" && (await askForPlan(context, result, sessionId));
  if (answer) {
    policy.isPlanning = false;
    policy.isYolo ||= answer === "unasked";
    const left = remainingLimits(limits, result.end, 0);
    result = await runUntilMatch(sendMessage, userMessage(CARRY_OUT), left, schema, startedAt);
  }
  if (options.usageFile !== undefined) {
    const usage = { ...describeRun(run, result.outcome), ...usageFields(result.end) };
    await writeFileAtomic(options.usageFile, `${JSON.stringify(usage, undefined, 2)}\n`);
  }
  if (options.outputLastMessage !== undefined)
    await writeFileAtomic(options.outputLastMessage, `${result.text || result.end.text}\n`);
  view.end(result);
  if (options.outputLastMessage === undefined && isClosedAtStart(1)) {
    const where =
      sessionId === undefined ? "is lost" : `can only be read with \`hermes sessions show ${sessionId}\``;
    reporter.onNotice(`standard output is closed, so the answer ${where}.`);
  }
  context.exit(RUN_EXIT_CODES[result.outcome]);
}

/**
 * Asks at a terminal whether to carry out the plan, and whether its calls need approval. Without a terminal, prints the command that
 * carries it out.
 */
async function askForPlan(
  { terminal, flags, signal }: CommandContext,
  { text }: RunResult,
  sessionId: string | undefined,
): Promise<"asked" | "unasked" | undefined> {
  if (text === "" || sessionId === undefined) return undefined;
  if (!terminal.interactive) {
    const command = `hermes ${profileFlag(flags.profile)}-r ${sessionId} -z "${CARRY_OUT}"`;
    terminal.note(`hermes: To carry out the plan: ${command}`);
    return undefined;
  }
  await terminal.discardTyped(signal);
  terminal.note("\nCarry out this plan? y: yes; a: yes, and ask about none of its calls; N: no");
  const answer = (await terminal.ask("[y/a/N] ", signal))?.trim() ?? "";
  if (/^a(ll)?$/i.test(answer)) return "unasked";
  return /^y(es)?$/i.test(answer) ? "asked" : undefined;
}

/** Adds the command that resumes a stopped turn as a hint, because a single run takes no further input. */
function withNextCommand(event: AgentEvent, flags: string, { session }: RunOptions): AgentEvent {
  if (event.type !== "turn-end" || event.outcome !== "stopped") return event;
  const hint = session === false ? "Run it again." : `Resume it with: hermes ${flags} -z "continue"`;
  return { ...event, hint };
}

/** Sends the message. If the answer does not match the schema, sends the mismatch to the model, up to a limit. Adds up the usage. */
async function runUntilMatch(
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
    const left = remainingLimits(limits, end, durationMs / 1_000);
    const isSpent = [left.maxRequests, left.maxSeconds, left.maxCostUsd].some((amount) => (amount ?? 1) <= 0);
    if (answers === MAX_ANSWERS || isSpent) {
      const reason = `The answer does not match the output schema: ${checked.problem}.`;
      const hint = isSpent
        ? "A limit was reached before the next try."
        : `The model gave ${answers} answers.`;
      const outcome = isSpent ? "budget" : "unfit";
      return { end: { ...end, reason, hint }, outcome, text: "", durationMs };
    }
    const next = await say(
      userMessage(`Your answer does not match the JSON Schema: ${checked.problem}. ${schema.instruction}`),
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

function remainingLimits(limits: TurnLimits, end: AgentEventOf<"turn-end">, seconds: number): TurnLimits {
  const minus = (limit: number | undefined, used: number): number | undefined =>
    limit === undefined ? undefined : limit - used;
  return {
    maxRequests: minus(limits.maxRequests, end.requests),
    maxSeconds: minus(limits.maxSeconds, seconds),
    maxCostUsd: minus(limits.maxCostUsd, end.costUsd ?? 0),
  };
}

function requireCompatible(options: RunOptions, { resolved }: App): void {
  const resumes = options.continue !== undefined || options.resume !== undefined;
  const refuse = (message: string, hint: string): AppError => new AppError("usage-wrong", message, { hint });
  if (options.in !== undefined && options.continue !== true && options.resume !== "latest")
    throw refuse("--in selects the latest session of a folder.", "Use it with -c or -r latest.");
  if (resumes && options.session === false)
    throw refuse("--no-session cannot resume a session.", "Omit -c, -r or --no-session.");
  const fixed = options.appendSystemPrompt ?? options.toolsets;
  if (resumes && (fixed !== undefined || options.context === false))
    throw refuse(
      "A resumed session keeps its system prompt and tools.",
      "Use --append-system-prompt, --no-context and --toolsets with a new session.",
    );
  if (options.session === false && resolved.config.agent.max_daily_cost_usd !== null)
    throw refuse(
      "The cost of a --no-session run would not count towards agent.max_daily_cost_usd.",
      "Omit --no-session, or remove that limit.",
    );
  if (options.json && (options.outputFormat ?? "events") !== "events")
    throw refuse(`--json means --output-format events, not ${options.outputFormat}.`, "Omit one of the two.");
  const wrong = options.toolsets?.find((name) => !KNOWN_TOOLSETS.includes(name));
  if (wrong !== undefined)
    throw refuse(`There is no toolset ${wrong}.`, `Use some of ${TOOLSETS.join(", ")}.`);
}

/** Loads an image from a file or an http address. */
async function requireImage(source: string, app: App, signal: AbortSignal): Promise<ImagePart> {
  const image = /^https?:\/\//i.test(source)
    ? await fetchImage(app, source, signal)
    : await readImage(source);
  if (!("problem" in image)) return image;
  throw new AppError("file-unreadable", `${source} cannot be sent as an image: ${image.problem}.`, {
    hint: IMAGE_HINT,
  });
}

function messageOf(
  task: string,
  added: UserMessage["parts"],
  schema: OutputSchema | undefined,
  { plan = false }: RunOptions,
): UserMessage {
  const { parts, ...message } = userMessage(task, added);
  // The notes are separate parts, because lists of sessions show the first part, which is the user's text.
  const notes = [plan ? PLAN_MODE : undefined, schema?.instruction].filter((note) => note !== undefined);
  return {
    ...message,
    parts: [...parts, ...notes.map((note) => ({ type: "text", text: `\n\n${note}` }) as const)],
  };
}

function userMessage(text: string, added: UserMessage["parts"] = []): UserMessage {
  return { role: "user", parts: [{ type: "text", text }, ...added] };
}

export const SURFACE = {
  source: "oneshot",
  instructions:
    "This is a single run: nobody can answer questions, so decide for yourself and say what you assumed.",
  canNotify: false,
  takesNotes: false,
  haltsLoops: true,
  showsText: false,
  whenApprovalNeeded: "deny",
  titledBy: "message",
} as const;

const ASKING_INSTRUCTIONS =
  "This is a single run: the user sends no further message, so decide for yourself and say what you assumed.";

function surfaceOf(options: RunOptions, { resolved }: App, terminal: Terminal) {
  const { appendSystemPrompt, toolsets, session } = options;
  // A temporary folder holds no other sessions to search.
  const without = session === false ? ["session_search"] : [];
  const offeredToolsets = (toolsets ?? KNOWN_TOOLSETS).filter((name) => !without.includes(name));
  const isWatched = formatOf(options) === "watch";
  const whenApprovalNeeded =
    isWatched && terminal.interactive ? "ask" : unattendedPolicy(options, resolved.config.approvals);
  const instructions = [
    whenApprovalNeeded === "ask" ? ASKING_INSTRUCTIONS : SURFACE.instructions,
    appendSystemPrompt,
  ];
  return {
    ...SURFACE,
    instructions: instructions.filter((text) => text !== undefined).join("\n\n"),
    toolsets: offeredToolsets,
    showsText: isWatched,
    haltsLoops: !isWatched,
    whenApprovalNeeded,
  } as const;
}

/** What to do with questions in an unattended run. Those of an unsaved session cannot be answered from other processes. */
function unattendedPolicy(
  { session }: RunOptions,
  { single_query_mode: mode }: App["resolved"]["config"]["approvals"],
): "deny" | "approve" | "ask" {
  return session === false && mode === "ask" ? "deny" : mode;
}

/** `chat -q` shows progress, except with a schema: then only the matching answer is printed. */
function formatOf({ json, outputFormat, outputSchema, oneshot }: RunOptions): keyof typeof VIEWS {
  if (json || outputFormat === "events") return "events";
  if (outputFormat === "json") return "json";
  return oneshot !== undefined || outputSchema !== undefined ? "quiet" : "watch";
}
