import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import type { Answer, Approval } from "../approvals/approval.ts";
import { parseClarification } from "../approvals/clarification.ts";
import { AppError } from "../lib/errors.ts";
import type { PolicyState } from "../policy/policy.ts";
import { listProfiles } from "../profiles/profile-store.ts";
import { openSessionStore, type SessionStore } from "../sessions/session-store.ts";
import { type App, openApp } from "./app.ts";

/** Rules of the machine's administrator. */
export const MANAGED_RULES = "/etc/hermes/rules.yaml";

/** The options of `hermes chat` that change what a session may do. */
export interface PolicyOptions {
  readonly yolo?: boolean;
  readonly plan?: boolean;
}

/** The initial policy of a session. Variables are read once, so that later commands cannot change them. */
export function createPolicyState({ resolved }: App, { yolo, plan }: PolicyOptions): PolicyState {
  return {
    mode: resolved.config.approvals.mode,
    isYolo: yolo ?? parseSwitch("HERMES_YOLO_MODE", resolved.variable("HERMES_YOLO_MODE")),
    isPlanning: plan ?? false,
  };
}

/** Parses an on/off variable. Refuses an unknown word instead of guessing. */
function parseSwitch(name: string, text: string | undefined): boolean {
  const word = text?.trim().toLowerCase() ?? "";
  if (["1", "true", "yes", "on"].includes(word)) return true;
  if (["", "0", "false", "no", "off"].includes(word)) return false;
  throw new AppError("config-invalid", `${name} is neither on nor off.`, { hint: "Set it to 1 or 0." });
}

/** Opens the profile's sessions, with their questions and decisions. */
export function openAppSessions({ profile }: App, signal: AbortSignal): Promise<SessionStore> {
  return openSessionStore(profile.sessionsPath, {}, signal);
}

/** Stores a person's answer; "always" also adds a rule to the settings. */
export async function answerApproval(
  app: App,
  store: Pick<SessionStore, "approvals">,
  id: string,
  answer: Omit<Answer, "by"> & { readonly by?: string },
  signal: AbortSignal,
): Promise<Approval> {
  const question = store.approvals.require(id);
  const rule = question.details.always?.rule;
  if (answer.scope === "always" && rule === undefined)
    throw new AppError("usage-wrong", "This call cannot be allowed permanently.", {
      hint: "Approve it once, or write a rule into approvals.allow yourself.",
    });
  const { createRedactor } = await import("../lib/redact/redactor.ts");
  const { redact } = createRedactor({ secrets: app.resolved.secrets });
  const text = answer.text === undefined ? undefined : redact(answer.text);
  const answered = await store.approvals.answer(question.id, { by: userName(), ...answer, text }, signal);
  if (answer.scope === "always" && rule !== undefined) await addAllowRule(app, rule, signal);
  return answered;
}

/** Unblocks the task whose worker asked, so that its next run finds the answer. */
export async function unblockAskingTask(
  app: App,
  { details, state, answer }: Approval,
  signal: AbortSignal,
): Promise<void> {
  if (details.task === undefined) return;
  const { openAppBoard } = await import("./board.ts");
  await using board = await openAppBoard(app, { slug: details.task.board, operator: userName() }, signal);
  const verdict =
    state === "approved" ? "yes, approved" : `no, denied${answer === undefined ? "" : `: ${answer}`}`;
  const text = state === "answered" && answer !== undefined ? answer : verdict;
  await board.client.answer(details.task.taskId, text, signal);
}

/** A person's text as the answer to a clarification; throws if it is empty. */
export function toClarificationAnswer({ details }: Approval, text: string): Omit<Answer, "by"> {
  return { verdict: "answered", text: parseClarification(text, details) };
}

const YES = /^(?:yes|y|ok|approved?|allow)$/i;
const NO = /^(?:no|n|deny)(?:\s*[,:]\s*(?<reason>.+))?$/is;

/** Reads an exact yes or no; undefined for everything else, such as "yes, but not with rm". */
export function parseVerdict(text: string): Omit<Answer, "by"> | undefined {
  const words = text.trim();
  if (YES.test(words)) return { verdict: "approved" };
  const no = NO.exec(words);
  return no === null ? undefined : { verdict: "denied", text: no.groups?.["reason"] };
}

/** The question of a task's worker, answered or still waiting, and the profile that it is stored in. */
export interface TaskQuestion {
  readonly approval: Approval;
  readonly profile: string;
}

/**
 * Answers the waiting question of a task's worker; returns undefined if there is none. Any text answers a clarification, but
 * only an exact yes or no answers an approval; otherwise it keeps waiting. The question is stored with the session of the
 * worker's profile, so a question from another host must be answered there. `requirePerson` throws if the caller is no person.
 */
export async function answerTaskQuestion(
  app: App,
  runs: readonly { readonly profile: string | null; readonly session_id: string | null }[],
  { text, requirePerson }: { readonly text: string; requirePerson(): void },
  signal: AbortSignal,
): Promise<TaskQuestion | undefined> {
  const run = runs.at(-1);
  if (!run?.profile || run.session_id === null) return undefined;
  const { variables, userHome } = app;
  const { profile } = run;
  const worker = await openApp({ profile, variables, userHome });
  using store = await openAppSessions(worker, signal);
  const asked = store.approvals.waiting().find(({ sessionId }) => sessionId === run.session_id);
  if (asked === undefined) return undefined;
  const answer = asked.kind === "clarification" ? toClarificationAnswer(asked, text) : parseVerdict(text);
  if (answer === undefined) return { approval: asked, profile };
  requirePerson();
  return { approval: await answerApproval(worker, store, asked.id, answer, signal), profile };
}

/** Counts the waiting questions of the other profiles of this root home. Profiles without questions are omitted. */
export async function countQuestionsElsewhere(
  { profile }: App,
  signal: AbortSignal,
): Promise<readonly { readonly profile: string; readonly count: number }[]> {
  const others = (await listProfiles(profile.root)).filter(({ home }) => home !== profile.home);
  const counts: { profile: string; count: number }[] = [];
  for (const { name, sessionsPath } of others) {
    if (!existsSync(sessionsPath)) continue;
    using store = await openSessionStore(sessionsPath, {}, signal);
    const count = store.approvals.waiting().length;
    if (count > 0) counts.push({ profile: name, count });
  }
  return counts;
}

/** The user name from the operating system, not from variables, which any process can set. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "?"}`; // the uid has no entry in the user database
  }
}

async function addAllowRule({ profile }: App, rule: string, signal: AbortSignal): Promise<void> {
  const { addToSetting } = await import("../config/files/write-setting.ts");
  await addToSetting(profile.configPath, profile.home, ["approvals", "allow"], rule, signal);
}
