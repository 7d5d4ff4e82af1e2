import { counted } from "../../format.ts";

/** The health of the machine and the server, and the audit. */
export const healthWords = {
  tabs: { label: "Health", checks: "Checks", audit: "Audit" },
  summary: (problems: number, warnings: number): string => {
    if (problems + warnings === 0) return "Everything works.";
    const parts = [
      ...(problems > 0 ? [counted(problems, "problem", "problems")] : []),
      ...(warnings > 0 ? [counted(warnings, "warning", "warnings")] : []),
    ];
    return `${parts.join(" and ")} found.`;
  },
  again: "Check again",
  checking: "Checking…",
  todo: "What to do",
  fine: "In order",
  statuses: { ok: "ok", note: "note", warn: "warning", fail: "problem" },
  server: {
    title: "This server",
    version: "Version",
    node: "Node.js",
    process: "Process",
    started: "Started",
    memory: "Memory",
    streams: "Open pages",
    topics: "Followed",
    streamCount: (count: number) => counted(count, "stream", "streams"),
    topicCount: (count: number) => counted(count, "topic", "topics"),
  },
  dispatchers: {
    title: "Dispatchers",
    none: "No dispatcher is running.",
    alive: "running",
    gone: "not running",
    on: (host: string) => `on ${host}`,
  },
  audit: {
    none: "Nothing yet.",
    noneHint: "Sign-ins, refusals and changes of settings are listed here.",
    older: "Show older entries",
    admin: "Only a sign-in with the scope admin may read the audit.",
    columns: { time: "Time", what: "What", outcome: "Outcome", who: "Who", from: "From" },
    outcomes: { done: "done", refused: "refused" } as Readonly<Record<string, string>>,
    actions: {
      "sign-in": "Signed in",
      "sign-out": "Signed out",
    } as Readonly<Record<string, string>>,
  },
};
