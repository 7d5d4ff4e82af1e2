import type { Approval } from "../../../contract/approvals.ts";
import type { WaitingQuestion } from "../../data/profile-data.ts";

/** A question with all that a person needs to answer it. */
export function toApproval({ profile, approval }: WaitingQuestion): Approval {
  const { id, kind, sessionId, tool, summary, reason, details, askedAt, state } = approval;
  return {
    ...{ id, profile, kind, sessionId, tool, summary, reason, askedAt, state },
    whole: details.whole ?? null,
    choices: details.choices === undefined ? null : [...details.choices],
    isSeveral: details.several ?? false,
    session: details.session?.words ?? null,
    always: details.always?.words ?? null,
    task: details.task === undefined ? null : { board: details.task.board, id: details.task.taskId },
    endsAt: approval.endsAt ?? null,
    answer: approval.answer ?? null,
    answeredBy: approval.answeredBy ?? null,
  };
}
