import type { Status } from "../../../../../src/api/contract/boards.ts";
import type { IconName } from "../../../components/controls/icon.tsx";

export const STATUS_ICONS: Readonly<Record<Status, IconName>> = {
  triage: "triage",
  todo: "todo",
  scheduled: "scheduled",
  ready: "ready",
  running: "running",
  blocked: "asks",
  review: "review",
  done: "done",
  archived: "archived",
};
