import { AppError } from "../../lib/errors.ts";
import { commandOf, describePending, findPendingRename } from "../commands/profile/pending-rename.ts";
import type { CheckInput, Finding } from "./check.ts";

/** Says nothing when there is nothing to say: most machines never rename a profile. */
export async function checkProfiles({ app: { profile } }: CheckInput): Promise<Finding[]> {
  try {
    const pending = await findPendingRename(profile.root);
    if (pending === undefined) return [];
    const detail = `${describePending(pending)}: its tasks wait`;
    return [{ name: "profiles", status: "warn", detail, fix: `Finish it with \`${commandOf(pending)}\`.` }];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [{ name: "profiles", status: "warn", detail: error.message, fix: error.hint }];
  }
}
