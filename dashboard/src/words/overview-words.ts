/** The Overview. */
export const overviewWords = {
  begin: "Nothing is running and nothing needs you.",
  steps: [
    { text: "Choose a model and set its key", command: "hermes setup" },
    { text: "Make a profile that works on tasks", command: "hermes profile create coder" },
    { text: "Make a task", command: 'hermes kanban create "Fix the login"' },
  ],
};
