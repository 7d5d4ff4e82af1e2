import type { CompactionParts } from "../agent/compaction/compact-history.ts";
import type { Summarizer } from "../agent/compaction/summarize.ts";
import type { TurnCompaction } from "../agent/compaction/when-to-compact.ts";
import { systemClock } from "../lib/time/clock.ts";
import type { ReadVariable, RouteSettings } from "../providers/routes/choose-provider.ts";
import { resolveRoute } from "../providers/routes/resolve-route.ts";
import { type OpenRoute, openRoute } from "../providers/routes/route-http.ts";
import type { CompactionState } from "../sessions/session.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import { findTool } from "../tools/find-tool.ts";
import { parseTodos } from "../tools/todo.ts";
import type { Tool } from "../tools/tool.ts";

export interface CompactionSettings extends RouteSettings {
  readonly compression: {
    readonly enabled: boolean;
    readonly threshold: number;
    readonly threshold_tokens: number | null;
  };
  readonly auxiliary: {
    readonly compression: { readonly provider: string; readonly model: string; readonly timeout: number };
  };
}

/** The models that write summaries: that of auxiliary.compression, if set, then that of the conversation. */
export function createSummarizers(
  settings: CompactionSettings,
  main: () => Summarizer,
  {
    variable,
    variables,
  }: { variable: ReadVariable; variables: Readonly<Record<string, string | undefined>> },
): { readonly summarizers: CompactionParts["summarizers"] } & AsyncDisposable {
  const { provider, model } = settings.auxiliary.compression;
  let opened: Promise<OpenRoute> | undefined;
  const openAuxiliary = async (): Promise<Summarizer> => {
    const request = { provider: provider === "auto" ? undefined : provider, model: model || undefined };
    opened ??= openRoute(resolveRoute(settings, request, variable), variables, {
      clock: systemClock,
      cacheTtl: "5m",
    });
    return (await opened).model;
  };
  const isAuxiliarySet = provider !== "auto" || model !== "";
  return {
    summarizers: [...(isAuxiliarySet ? [openAuxiliary] : []), async () => main()],
    async [Symbol.asyncDispose]() {
      await (await opened?.catch(() => undefined))?.http[Symbol.asyncDispose]();
    },
  };
}

export interface CompactedSession {
  readonly store: SessionStore;
  readonly sessionId: string;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly summarizers: CompactionParts["summarizers"];
  readonly settings: CompactionSettings;
}

/** What every compaction of a session needs. */
export function createCompactionParts(session: CompactedSession): CompactionParts {
  const { store, sessionId, tools, summarizers, settings } = session;
  return {
    sessionId,
    summarizers,
    silenceMs: settings.auxiliary.compression.timeout * 1_000,
    mutates: (tool) => findTool(tools, tool)?.mutates ?? true,
    openTodos: () =>
      parseTodos(store.findLastResult(sessionId, "todo")).items.flatMap(({ id, status, content }) =>
        status === "pending" || status === "in_progress" ? [`${id} (${status}): ${content}`] : [],
      ),
    clock: systemClock,
  };
}

const NEVER_COMPACTED: CompactionState = { replaced: 0, anchor: undefined, failures: 0, retryAt: 0 };

/** How the turns of a session compact its conversation; undefined if the settings forbid it. */
export function createTurnCompaction(
  session: CompactedSession,
  window: {
    windowTokens(): number | undefined;
    /** Called when the server states its window in an error. */
    onWindowStated(tokens: number): void;
  },
  state: CompactionState = NEVER_COMPACTED,
): TurnCompaction | undefined {
  const { enabled, threshold, threshold_tokens } = session.settings.compression;
  if (!enabled) return undefined;
  return {
    ...createCompactionParts(session),
    ...state,
    threshold,
    thresholdTokens: threshold_tokens ?? Number.POSITIVE_INFINITY,
    ...window,
  };
}

/** The smaller of the configured or known window and the one that the server stated. */
export function findWindow(known: number | undefined, stated: number | undefined): number | undefined {
  return known === undefined || stated === undefined ? (known ?? stated) : Math.min(known, stated);
}
