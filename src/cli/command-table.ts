import type { Command } from "commander";
import type { CommandContext } from "./context.ts";

interface CommandModule {
  /** `commands` is the whole table, for the command that describes all others. */
  build(context: CommandContext, commands: readonly CommandRow[]): Command | Promise<Command>;
}

interface CommandRow {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
}

/** All commands, in the order of the help page. Only the module of the called command is loaded. */
export const COMMANDS: readonly CommandRow[] = [
  {
    name: "demo",
    summary: "Watch a demo: a scripted model, no key, no network",
    load: () => import("./commands/demo/demo.ts"),
  },
  {
    name: "setup",
    summary: "Choose model, environment and approvals; then chat",
    load: () => import("./commands/setup/setup.ts"),
  },
  {
    name: "chat",
    summary: "Give the agent a task; `hermes -z TASK` for scripts",
    load: () => import("./commands/chat/chat.ts"),
  },
  {
    name: "config",
    summary: "Show, explain and change settings",
    load: () => import("./commands/config/config.ts"),
  },
  {
    name: "model",
    summary: "Show, list, choose and test models",
    load: () => import("./commands/model/model.ts"),
  },
  {
    name: "auth",
    summary: "Add, list, test and remove keys of providers",
    load: () => import("./commands/auth/auth.ts"),
  },
  {
    name: "profile",
    summary: "Create and manage profiles (separate identities)",
    load: () => import("./commands/profile/profile.ts"),
  },
  {
    name: "sessions",
    summary: "List, read, search, branch and export sessions",
    load: () => import("./commands/sessions/sessions.ts"),
  },
  {
    name: "approvals",
    summary: "Answer questions of sessions, manage rules",
    load: () => import("./commands/approvals/approvals.ts"),
  },
  {
    name: "rollback",
    summary: "Undo the changes of turns in a project's files",
    load: () => import("./commands/rollback.ts"),
  },
  { name: "why", summary: "Explain why a call was or was not run", load: () => import("./commands/why.ts") },
  {
    name: "audit",
    summary: "List the calls that were run or refused",
    load: () => import("./commands/audit.ts"),
  },
  {
    name: "gateway",
    summary: "Answer on messaging platforms; host the dispatcher",
    load: () => import("./commands/gateway/gateway.ts"),
  },
  {
    name: "dashboard",
    summary: "See and steer tasks and sessions in a browser",
    load: () => import("./commands/dashboard.ts"),
  },
  {
    name: "send",
    summary: "Send a message to a chat, without a model",
    load: () => import("./commands/send.ts"),
  },
  {
    name: "pairing",
    summary: "Approve people who wrote to the gateway",
    load: () => import("./commands/pairing.ts"),
  },
  {
    name: "kanban",
    summary: "Create, run and track tasks",
    load: () => import("./commands/kanban/kanban.ts"),
  },
  {
    name: "sandbox",
    summary: "Run commands in the sandbox and manage it",
    load: () => import("./commands/sandbox/sandbox.ts"),
  },
  {
    name: "prompt-size",
    summary: "Show the size of the fixed part of every prompt",
    load: () => import("./commands/prompt-size.ts"),
  },
  {
    name: "tools",
    summary: "Show the tools of the model and what they cost",
    load: () => import("./commands/tools.ts"),
  },
  {
    name: "insights",
    summary: "Show tokens, cost, cache, tools and time by day",
    load: () => import("./commands/insights.ts"),
  },
  {
    name: "doctor",
    summary: "Check this machine and suggest fixes",
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "status",
    summary: "Show the profile, model and environment in use",
    load: () => import("./commands/status.ts"),
  },
  { name: "logs", summary: "Read and follow the logs", load: () => import("./commands/logs.ts") },
  {
    name: "completion",
    summary: "Print a completion script for bash, zsh or fish",
    load: () => import("./commands/completion/completion.ts"),
  },
];
