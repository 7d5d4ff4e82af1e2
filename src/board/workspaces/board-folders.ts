import { join } from "node:path";
import { boardFolder, DEFAULT_BOARD } from "../board-slug.ts";

/** Where the files of a board lie that are not in its database. */
export interface BoardFolders {
  /** One folder for each task that works in scratch. */
  readonly workspaces: string;
  /** One folder for each task that has attachments. */
  readonly attachments: string;
  /** What was moved aside, of all boards, until it is deleted for good. */
  readonly quarantine: string;
}

/** The folders of a board below the root home, which all profiles share. */
export function boardFolders(root: string, slug: string): BoardFolders {
  const kanban = join(root, "kanban");
  const folder = slug === DEFAULT_BOARD ? kanban : boardFolder(root, slug);
  return {
    workspaces: join(folder, "workspaces"),
    attachments: join(folder, "attachments"),
    quarantine: join(kanban, "quarantine"),
  };
}
