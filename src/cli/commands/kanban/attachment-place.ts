import { boardsPlace, sharedAttachmentLimit } from "../../../app.ts";
import type { AttachmentPlace } from "../../../board/attachments/attachment-files.ts";
import { boardFolders } from "../../../board/workspaces/board-folders.ts";
import type { OpenDesk } from "./desk.ts";

/** Where the files of the open board's tasks lie. */
export function attachmentPlace({ app, store }: OpenDesk): AttachmentPlace {
  const folders = boardFolders(boardsPlace(app).root, store.slug);
  return { ...folders, now: Date.now, sharedLimitBytes: sharedAttachmentLimit(app) };
}
