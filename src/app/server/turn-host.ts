import type { EnvironmentFacts } from "../../environments/environment-request.ts";
import type { CommonOptions } from "../../gateway/platforms/common-options.ts";
import { AppError } from "../../lib/errors.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { createTurnHost, TURN_HOST_SIZE, type TurnHost, type TurnHostSize } from "../../turns/turn-host.ts";
import type { App } from "../app.ts";
import { answerApproval, createPolicyState } from "../approvals.ts";
import { openAppConversation } from "../conversation.ts";
import { createEnvironmentFacts, openAppEnvironments } from "../environments/environments.ts";

export interface ServerNotices {
  /** Shows or logs a notice of an environment or a conversation. */
  notify(text: string): void;
  /** Reports an error that is not a known failure. */
  onBug(error: unknown): void;
  /** Loads the settings for each conversation that is opened; by default, they stay as they were at the start. */
  load?(): Promise<App>;
  /** The working folder of sessions that name none. */
  readonly cwd: string;
  /** What differs from TURN_HOST_SIZE. */
  readonly size?: Partial<TurnHostSize>;
}

/** Applies the `terminal` settings of a platform to the environment of its sessions. */
function withOverrides({ resolved }: App, source: string, facts: EnvironmentFacts): EnvironmentFacts {
  const platforms: Readonly<Record<string, Pick<CommonOptions, "terminal"> | undefined>> =
    resolved.config.platforms;
  const chosen = Object.entries(platforms[source]?.terminal ?? {}).filter(([, value]) => value !== null);
  if (chosen.length === 0) return facts;
  return { ...facts, options: { ...facts.options, ...Object.fromEntries(chosen) } };
}

/** Opens the turns of a server, which share their environments. Disposing ends all of them. */
export async function openTurnHost(
  app: App,
  { notify, onBug, load = async () => app, cwd, size }: ServerNotices,
  signal: AbortSignal,
): Promise<TurnHost> {
  const environments = await openAppEnvironments(notify, signal);
  const host = createTurnHost({
    async open(sessionId, opening, within) {
      const current = await load();
      const facts = { cwd: opening.cwd ?? cwd, reporter: { onNotice: notify, onProgress: () => undefined } };
      const conversation = await openAppConversation(
        current,
        {
          environments,
          environment: withOverrides(current, opening.surface.source, createEnvironmentFacts(current, facts)),
          choice: { resume: sessionId },
          earlierExchanges: opening.earlier,
          model: opening.model ?? {},
          surface: opening.surface,
          policy: { ...createPolicyState(current, {}), ...opening.policy },
          reasoningEffort: opening.reasoningEffort,
        },
        within,
      );
      // A title or an id prefix must not select the session of another user.
      if (sessionId === undefined || conversation.sessionId === sessionId) return conversation;
      await conversation[Symbol.asyncDispose]();
      throw new AppError("session-not-found", `There is no session ${sessionId}.`);
    },
    answer: async (conversation, id, answer, within) =>
      answerApproval(await load(), conversation, id, answer, within),
    onBug,
    clock: systemClock,
    size: { ...TURN_HOST_SIZE, ...size },
  });
  return {
    ...host,
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await environments[Symbol.asyncDispose]();
    },
  };
}
