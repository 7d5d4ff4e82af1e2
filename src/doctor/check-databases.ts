import { existsSync } from "node:fs";
import { boardsLocation } from "../app/board.ts";
import { boardPath } from "../board/board-slug.ts";
import { AppError } from "../lib/errors.ts";
import { findFileSize } from "../lib/files/files.ts";
import { commandOf, describePending, findPendingRename } from "../profiles/pending-rename.ts";
import { type CheckInput, type Finding, finding, orFinding } from "./check.ts";

const MB = 1_000_000;
const READ_WHOLE_BELOW = 300 * MB; // reading takes about a second for each 200 MB

export async function checkSessions({ app: { profile }, signal }: CheckInput): Promise<Finding[]> {
  const path = profile.sessionsPath;
  const bytes = await findFileSize(path);
  if (bytes === undefined) return [finding("sessions", "ok", "none yet")];
  const size = `${(bytes / MB).toFixed(1)} MB`;
  return orFinding("sessions", "fail", async () => {
    const { openSessionStore } = await import("../sessions/session-store.ts");
    using store = await openSessionStore(path, {}, signal);
    if (bytes > READ_WHOLE_BELOW) {
      const detail = `${path} opens; its content was not checked because it is large (${size})`;
      return [finding("sessions", "ok", detail)];
    }
    const problems = await store.checkIntegrity();
    if (problems.length === 0) return [finding("sessions", "ok", `intact, ${size}`)];
    const isIndex = problems.every((problem) => problem.includes("fts5"));
    const fix = isIndex
      ? "Only the search index is damaged. Rebuild it with `hermes sessions search --rebuild`."
      : `Restore ${path} from a backup, or move it aside.`;
    return problems
      .slice(0, 3)
      .map((problem) => finding("sessions", isIndex ? "warn" : "fail", problem, fix));
  });
}

/** Checks that this version can open each board and that the board is consistent. */
export async function checkBoards({ app, signal }: CheckInput): Promise<Finding[]> {
  const location = boardsLocation(app);
  const { listBoards } = await import("../board/registry/list-boards.ts");
  const { openBoardStore } = await import("../board/board-store.ts");
  const findings: Finding[] = [];
  const intact: string[] = [];
  for (const slug of await listBoards(location, signal)) {
    if (location.databaseUrl === "" && !existsSync(boardPath(location.root, slug))) continue; // created on first use
    try {
      await using store = await openBoardStore({ ...location, slug, create: false }, {}, signal);
      const [first, ...others] = await store.check(signal);
      if (first === undefined) intact.push(slug);
      else {
        const more = others.length === 0 ? "" : `, and ${others.length} more`;
        const fix = `hermes kanban --board ${slug} repair`;
        findings.push(finding("boards", "fail", `${slug}: ${first}${more}`, fix));
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === "board-not-found") continue; // not created yet, on a server
      findings.push(finding("boards", "fail", error.message, error.hint));
    }
  }
  if (findings.length > 0) return findings;
  return [finding("boards", "ok", intact.length === 0 ? "none yet" : `intact: ${intact.join(", ")}`)];
}

/** Reports an unfinished rename of a profile; returns no finding otherwise. */
export async function checkProfiles({ app: { profile } }: CheckInput): Promise<Finding[]> {
  return orFinding("profiles", "warn", async () => {
    const pending = await findPendingRename(profile.root);
    if (pending === undefined) return [];
    const detail = `${describePending(pending)}: its tasks do not start`;
    return [finding("profiles", "warn", detail, `Finish it with \`${commandOf(pending)}\`.`)];
  });
}
