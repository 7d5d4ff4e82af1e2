import type { Command } from "commander";
import type { CommandContext } from "./context.ts";

interface CommandModule {
  build(context: CommandContext): Command | Promise<Command>;
}

interface CommandRow {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
}

/** Every command, in the order of the help page. Only the one that is called gets loaded. */
export const COMMANDS: readonly CommandRow[] = [
  {
    name: "demo",
    summary: "See it work: no key, no network, a scripted model",
    load: () => import("./commands/demo.ts"),
  },
  {
    name: "chat",
    summary: "Give the agent a task; `hermes -z TASK` for scripts",
    load: () => import("./commands/chat.ts"),
  },
  {
    name: "config",
    summary: "Show, explain and change settings",
    load: () => import("./commands/config.ts"),
  },
  {
    name: "profile",
    summary: "Manage separate identities on this machine",
    load: () => import("./commands/profile.ts"),
  },
  {
    name: "sessions",
    summary: "List, read, search and tidy up sessions",
    load: () => import("./commands/sessions.ts"),
  },
  {
    name: "kanban",
    summary: "Make tasks, move them and see where they stand",
    load: () => import("./commands/kanban.ts"),
  },
  {
    name: "sandbox",
    summary: "Run commands in the sandbox and look after it",
    load: () => import("./commands/sandbox.ts"),
  },
  {
    name: "prompt-size",
    summary: "Show what the beginning of every prompt costs",
    load: () => import("./commands/prompt-size.ts"),
  },
  {
    name: "doctor",
    summary: "Check this machine and say what to do",
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "status",
    summary: "Show what Hermes would use right now",
    load: () => import("./commands/status.ts"),
  },
  { name: "logs", summary: "Read the logs", load: () => import("./commands/logs.ts") },
];
