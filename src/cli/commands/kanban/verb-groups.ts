import type { Command } from "commander";

/** The verbs of each group of the help page, the most common ones first. */
const GROUPS: Readonly<Record<string, string>> = {
  "Common:": "create list show answer why",
  "Plan:": "plan assign edit link unlink comment set-model search context",
  "Move tasks:":
    "complete block unblock hold schedule promote specify retry reopen archive purge claim release",
  "Review:": "request-review approve request-changes",
  "Files:": "attach attachments attach-rm",
  "Dispatch:": "daemon dispatch dispatch-status pause resume reassign reclaim unguard",
  "Watch:": "board watch tail log runs stats assignees diagnostics notify-subscribe notify-unsubscribe",
  "Manage boards:": "boards init export import repair gc help-moves",
};

/** Sorts the verbs into their groups; a verb without a group is listed last, under `Commands:`. */
export function groupVerbs(kanban: Command): void {
  const order = Object.values(GROUPS).join(" ").split(" ");
  for (const [heading, names] of Object.entries(GROUPS)) {
    for (const command of kanban.commands)
      if (names.split(" ").includes(command.name())) command.helpGroup(heading);
  }
  const position = (command: Command): number => order.indexOf(command.name()) >>> 0; // -1 becomes the largest
  (kanban.commands as Command[]).sort((one, other) => position(one) - position(other));
}
