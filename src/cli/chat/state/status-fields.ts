/** The fields of the status line, in the order in which they are shown by default. */
export const STATUS_FIELDS = ["model", "context", "cost", "environment", "mode", "jobs", "enter"] as const;
export type StatusField = (typeof STATUS_FIELDS)[number];
