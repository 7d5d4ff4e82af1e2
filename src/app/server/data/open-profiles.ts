import { existsSync } from "node:fs";
import type { ProfileData, WaitingQuestion } from "../../../api/dashboard/data/profile-data.ts";
import type { SessionSource } from "../../../api/dashboard/routes/sessions/session-view.ts";
import { formatProblem } from "../../../config/setting-problem.ts";
import { runChecks } from "../../../doctor/run-checks.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log/log.ts";
import { createRedactor } from "../../../lib/redact/redactor.ts";
import { loadProfileDescription } from "../../../profiles/profile-description.ts";
import { listProfiles } from "../../../profiles/profile-store.ts";
import type { App } from "../../app.ts";
import { answerApproval, toClarificationAnswer, unblockAskingTask } from "../../approvals.ts";
import { findDefaultRoute } from "../../conversation.ts";
import { readChatChoices } from "./chat-choices.ts";
import type { LoadProfile } from "./load-profile.ts";
import type { OpenSessions } from "./open-sessions.ts";

export interface ProfileParts {
  readonly sessions: OpenSessions;
  readonly load: LoadProfile;
  readonly log: Pick<Log, "warn">;
  /** The folder of new sessions. */
  readonly cwd: string;
}

/** The profiles of a home. Each request reads their current settings. */
export function openProfiles(app: App, { sessions, load: appOf, log, cwd }: ProfileParts): ProfileData {
  const { root } = app.profile;

  const data: ProfileData = {
    async list() {
      const profiles = await listProfiles(root);
      return await Promise.all(
        profiles.map(async (profile) => {
          const { description } = await loadProfileDescription(profile);
          const route = await appOf(profile.name).then(
            ({ resolved }) => findDefaultRoute(resolved),
            requireAppError,
          );
          const model = route instanceof AppError ? null : `${route.provider}:${route.model}`;
          return { name: profile.name, description, model, isCurrent: profile.name === app.profile.name };
        }),
      );
    },
    sessions: (profile) => sessions.open(profile),
    async facts(profile) {
      const { resolved } = await appOf(profile);
      return {
        problems: resolved.problems.map((problem) => ({ text: formatProblem(problem), hint: problem.hint })),
        dailyCapUsd: resolved.config.agent.max_daily_cost_usd,
        hasModel: !(findDefaultRoute(resolved) instanceof AppError),
      };
    },
    async damage(profile) {
      try {
        const { sessionsPath } = (await appOf(profile)).profile;
        if (existsSync(sessionsPath)) await sessions.open(profile);
        return undefined;
      } catch (error) {
        return requireAppError(error);
      }
    },
    chatChoices: async (profile, signal) => readChatChoices(await appOf(profile), cwd, signal),
    async waiting() {
      const questions: WaitingQuestion[] = [];
      for (const { profile, store } of await data.knownSessions())
        questions.push(...store.approvals.waiting().map((approval) => ({ profile, approval })));
      return questions.toSorted((one, other) => one.approval.askedAt - other.approval.askedAt);
    },
    async answer(id, reply, signal) {
      const profile = reply.profile ?? (await findOwner(id));
      const owner = await appOf(profile);
      const store = await sessions.open(profile);
      const question = store.approvals.require(id);
      const answer =
        reply.verdict === "answered"
          ? toClarificationAnswer(question, reply.text)
          : reply.verdict === "denied"
            ? { verdict: reply.verdict, text: reply.text }
            : { verdict: reply.verdict, scope: reply.scope };
      const approval = await answerApproval(owner, store, question.id, answer, signal);
      try {
        await unblockAskingTask(owner, approval, signal);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        log.warn("the task of an answered question was not unblocked", {
          question: id,
          error: error.message,
        });
      }
      return { profile, approval };
    },
    async knownSessions() {
      const sources: SessionSource[] = [];
      for (const { name, sessionsPath } of await listProfiles(root)) {
        if (!existsSync(sessionsPath)) continue;
        try {
          sources.push({
            profile: name,
            store: await sessions.open(name),
            redact: await data.redactor(name),
          });
        } catch (error) {
          requireAppError(error); // `damage` reports it, and the other profiles are shown
        }
      }
      return sources;
    },
    async redactor(profile) {
      const { redact } = createRedactor({ secrets: (await appOf(profile)).resolved.secrets });
      return (text) => redact(text);
    },
    logsFolder: async (profile) => (await appOf(profile)).profile.logsFolder,
    check: async (profile, signal) =>
      runChecks({ app: await appOf(profile), online: false, cwd: () => app.userHome, signal }),
  };

  async function findOwner(id: string): Promise<string> {
    const owners = (await data.waiting()).filter(({ approval }) => approval.id === id);
    const [owner, other] = owners;
    if (owner !== undefined && other === undefined) return owner.profile;
    throw new AppError("approval-not-found", `There is no waiting question ${id}.`);
  }
  return data;
}

function requireAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}
