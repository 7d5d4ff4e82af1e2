import type { Command } from "commander";

/** The verbs as the help page shows them: those that everybody needs first. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "Every day:": ["create", "list", "show", "answer", "why"],
  "Plan:": ["plan", "assign", "edit", "link", "unlink", "comment", "set-model", "search", "context"],
  "Move tasks:": [
    ...[
      "complete",
      "block",
      "unblock",
      "hold",
      "schedule",
      "promote",
      "specify",
      "retry",
      "reopen",
      "archive",
    ],
    ...["purge", "claim", "release"],
  ],
  "Review:": ["request-review", "approve", "request-changes"],
  "Files:": ["attach", "attachments", "attach-rm"],
  "Let profiles work:": [
    ...["daemon", "dispatch", "dispatch-status", "pause", "resume", "reassign", "reclaim", "unguard"],
  ],
  "Watch:": ["board", "watch", "tail", "log", "runs", "stats", "assignees", "diagnostics"],
  "Look after boards:": ["boards", "init", "export", "import", "repair", "gc", "help-moves"],
};

/** Puts the verbs into their groups; one without a group stands last, below `Commands:`. */
export function groupVerbs(kanban: Command): void {
  const order = Object.values(GROUPS).flat();
  for (const [heading, names] of Object.entries(GROUPS)) {
    for (const command of kanban.commands) if (names.includes(command.name())) command.helpGroup(heading);
  }
  const place = (command: Command): number => order.indexOf(command.name()) >>> 0; // the unknown ones last
  (kanban.commands as Command[]).sort((one, other) => place(one) - place(other));
}
