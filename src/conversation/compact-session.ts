import { compactHistory, planCompaction, TAIL_SHARE } from "../agent/compaction/compact-history.ts";
import { measureHistory } from "../agent/compaction/context-size.ts";
import type { AgentEvent, AgentEventOf } from "../agent/events.ts";
import type { EnvironmentFacts } from "../environments/environment-request.ts";
import { AppError } from "../lib/errors.ts";
import { readOwnIdentity } from "../lib/process/process-identity.ts";
import { systemClock } from "../lib/time/clock.ts";
import { NOTHING_TYPED, type RouteCatalogue } from "../providers/catalogue/route-catalogue.ts";
import type { ToolDefinition } from "../providers/provider.ts";
import { openRoute } from "../providers/routes/route-http.ts";
import { openSessionStore } from "../sessions/session-store.ts";
import { describeTools } from "./prompt/prompt-facts.ts";
import { findSessionRoute, type RunOverrides } from "./session-route.ts";
import { type CompactionSettings, createCompactionParts, createSummarizers } from "./turn-compaction.ts";

export interface CompactSessionRequest {
  readonly sessionsPath: string;
  readonly settings: CompactionSettings;
  readonly overrides: RunOverrides;
  readonly catalogue: RouteCatalogue;
  readonly environment: Pick<EnvironmentFacts, "variable" | "variables" | "options">;
  readonly sessionId: string;
  readonly focus: string | undefined;
  /** Only report what would be done. */
  readonly isPreview: boolean;
  onEvent(event: AgentEvent): void;
}

export interface SessionCompaction {
  readonly sessionId: string;
  /** Undefined for a preview. */
  readonly done: AgentEventOf<"compaction"> | undefined;
  readonly tokens: number;
  /** The model's window; undefined if unknown. */
  readonly windowTokens: number | undefined;
  readonly summarized: number;
  readonly kept: number;
}

/** Compacts a session between two turns, however short it is. Throws if that gains nothing or no summary could be written. */
export async function compactSession(
  request: CompactSessionRequest,
  signal: AbortSignal,
): Promise<SessionCompaction> {
  const { settings, environment, focus, sessionId } = request;
  using store = await openSessionStore(request.sessionsPath, {}, signal);
  await using turn = await store.acquireTurn(sessionId, await readOwnIdentity(signal), signal);
  const { session, messages: history, compaction, openTurn } = store.loadSession(sessionId);
  if ((openTurn?.pendingCalls.length ?? 0) > 0)
    throw new AppError(
      "session-interrupted",
      `A turn of session ${sessionId} was interrupted during its calls.`,
      {
        hint: `Send a message first: hermes -r ${sessionId} -z "continue"`,
      },
    );
  const found = findSessionRoute({ ...request, model: {} }, session, environment.variable);
  const route = await request.catalogue.complete(found.route, NOTHING_TYPED, signal);
  const opened = await openRoute(route, environment.variables, { clock: systemClock, cacheTtl: "5m" });
  await using _ = opened.http;
  await using auxiliary = createSummarizers(settings, () => opened.model, environment);
  const tools = JSON.parse(session.toolsJson) as ToolDefinition[];
  const tokens = measureHistory(history, tools, compaction.anchor);
  const windowTokens = opened.model.contextTokens;
  const order = {
    ...({ history, tools, tokens, focus, trigger: "manual", failures: 0, tailShare: TAIL_SHARE } as const),
    replaced: compaction.replaced,
    windowTokens: Math.min(windowTokens ?? tokens, tokens),
  };
  const parts = createCompactionParts({
    ...{ store, sessionId, settings, summarizers: auxiliary.summarizers },
    tools: describeTools({
      limits: {
        timeout: environment.options.timeout,
        maxForegroundTimeout: environment.options.max_foreground_timeout,
      },
      canAsk: true,
      canSee: true,
      disabled: [],
    }),
  });
  const plan = planCompaction(order, parts);
  if (plan === undefined)
    throw new AppError("compaction-pointless", `Session ${sessionId} would not become noticeably shorter.`);
  const counts = { summarized: plan.dropped.length, kept: plan.kept.length + plan.copied.length };
  const facts = { sessionId, tokens, windowTokens, ...counts };
  if (request.isPreview) return { ...facts, done: undefined };
  let done: AgentEventOf<"compaction"> | undefined;
  for await (const event of compactHistory(order, parts, AbortSignal.any([signal, turn.lostSignal]))) {
    await turn.record(event, turn.lostSignal);
    request.onEvent(event);
    if (event.type === "compaction") done = event;
    if (event.type === "compaction-failed")
      throw new AppError("compaction-failed", event.message, { hint: event.hint });
  }
  signal.throwIfAborted();
  turn.lostSignal.throwIfAborted();
  return { ...facts, done };
}
