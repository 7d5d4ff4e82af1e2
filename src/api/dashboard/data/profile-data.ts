import type { Approval } from "../../../approvals/approval.ts";
import type { AppError } from "../../../lib/errors.ts";
import type { SessionStore } from "../../../sessions/session-store.ts";
import type { ApprovalReply } from "../../contract/approvals.ts";
import type { ChatChoices } from "../../contract/chat.ts";
import type { Finding, ProfilesAnswer } from "../../contract/health.ts";
import type { SessionSource } from "../routes/sessions/session-view.ts";

/** The profiles of a home: their sessions, questions and settings. */
export interface ProfileData {
  list(): Promise<ProfilesAnswer["profiles"]>;
  /** The sessions of a profile; throws `profile-not-found`. */
  sessions(profile: string): Promise<SessionStore>;
  /** Settings that pages show. */
  facts(profile: string): Promise<ProfileFacts>;
  /** Why its settings or sessions cannot be read; undefined if they can. */
  damage(profile: string): Promise<AppError | undefined>;
  /** What a message in a chat can be answered with. */
  chatChoices(profile: string, signal: AbortSignal): Promise<ChatChoices>;
  /** The questions that wait, of all profiles whose sessions can be read. */
  waiting(): Promise<readonly WaitingQuestion[]>;
  /** Stores a person's answer and unblocks the task that waits for it. Throws `approval-not-found` or `approval-answered`. */
  answer(id: string, reply: ApprovalReply, signal: AbortSignal): Promise<WaitingQuestion>;
  /** The sessions of all profiles that have any and are not damaged. */
  knownSessions(): Promise<readonly SessionSource[]>;
  /** Replaces secrets of the profile in a text. */
  redactor(profile: string): Promise<(text: string) => string>;
  /** Where the logs of a profile are; throws `profile-not-found`. */
  logsFolder(profile: string): Promise<string>;
  /** What `hermes doctor` finds. */
  check(profile: string, signal: AbortSignal): Promise<readonly Finding[]>;
}

export interface ProfileFacts {
  /** One entry for each problem of the settings. */
  readonly problems: readonly { readonly text: string; readonly hint: string }[];
  /** US dollars a day; null means no limit. */
  readonly dailyCapUsd: number | null;
  readonly hasModel: boolean;
}

export interface WaitingQuestion {
  readonly profile: string;
  readonly approval: Approval;
}
