import { existsSync } from "node:fs";
import { boardsPlace } from "../../app.ts";
import { boardPath } from "../../board/board-slug.ts";
import { AppError } from "../../lib/errors.ts";
import type { CheckInput, Finding } from "./check.ts";

/** Whether each board can be used by this version and is as it must be. */
export async function checkBoards({ app, signal }: CheckInput): Promise<Finding[]> {
  const place = boardsPlace(app);
  const { listBoards } = await import("../../board/list-boards.ts");
  const { openBoardStore } = await import("../../board/board-store.ts");
  const findings: Finding[] = [];
  const sound: string[] = [];
  for (const slug of await listBoards(place, signal)) {
    if (place.databaseUrl === "" && !existsSync(boardPath(place.root, slug))) continue; // made on first use
    try {
      await using store = await openBoardStore({ ...place, slug, create: false }, {}, signal);
      const [first, ...others] = await store.check(signal);
      if (first === undefined) sound.push(slug);
      else {
        const more = others.length === 0 ? "" : `, and ${others.length} more`;
        const fix = `hermes kanban --board ${slug} repair`;
        findings.push({ name: "boards", status: "fail", detail: `${slug}: ${first}${more}`, fix });
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === "board-not-found") continue; // the same on a server
      findings.push({ name: "boards", status: "fail", detail: error.message, fix: error.hint });
    }
  }
  if (findings.length > 0) return findings;
  const detail = sound.length === 0 ? "none yet" : `sound: ${sound.join(", ")}`;
  return [{ name: "boards", status: "ok", detail, fix: "" }];
}
