import { parseAssignee } from "../../../board/task-text.ts";
import { closest } from "../../../lib/did-you-mean.ts";
import { listProfiles } from "../../../profiles/profile-store.ts";
import type { OpenDesk } from "./desk.ts";

/** The profile names of this home. */
export async function profileNames({ app }: OpenDesk): Promise<readonly string[]> {
  return (await listProfiles(app.profile.root)).map(({ name }) => name);
}

/** Says aloud, and to the caller, when nobody of this home answers to an assignee: it may be meant so, or be a slip of the hand. */
export async function noteLane(desk: OpenDesk, assignee: string | null | undefined): Promise<boolean> {
  const name = parseAssignee(assignee);
  if (name === null) return false;
  const profiles = await profileNames(desk);
  if (profiles.includes(name)) return false;
  const near = closest(name, profiles);
  const question = near === undefined ? "" : ` Did you mean ${near}?`;
  desk.context.terminal.note(
    `hermes: note: there is no profile ${name} here; the task waits in that lane until someone claims it.${question}`,
  );
  return true;
}
