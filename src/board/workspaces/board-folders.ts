import { join } from "node:path";
import { boardFolder, DEFAULT_BOARD } from "../board-slug.ts";

/** The folders for the files of a board that are not in its database. */
export interface BoardFolders {
  /** Contains one folder for each task with a scratch workspace. */
  readonly workspaces: string;
  /** Contains one folder for each task with attachments. */
  readonly attachments: string;
  /** Contains removed files of all boards until they are deleted permanently. */
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
