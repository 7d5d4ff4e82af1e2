import { AppError } from "../../../lib/errors.ts";
import { findEffort } from "../../../providers/provider.ts";
import type { ChatCommand } from "./chat-command.ts";
import { requireFacts, requireStored, splitWords, wrongUse } from "./command-input.ts";

const SESSION_ID = /^\d{8}_\d{6}_[0-9a-f]+$/;

const TODO_MARKS = { pending: "○", in_progress: "◐", completed: "●", cancelled: "✗" } as const;
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const EXPORTS: Readonly<Record<string, string>> = { markdown: "md", jsonl: "jsonl", html: "html" };

export const SESSION_COMMANDS: readonly ChatCommand[] = [
  {
    name: "status",
    summary: "session, model, folder and environment",
    availability: "always",
    run(chat) {
      const { facts, contextUsed, costUsd, mode } = chat.state();
      if (facts === undefined) return chat.print(["The session is being opened."]);
      chat.print([
        `session      ${facts.sessionId}`,
        `model        ${facts.model}`,
        `folder       ${facts.folder}`,
        `environment  ${facts.environment}`,
        `mode         ${mode}`,
        `context      ${contextUsed} of ${facts.contextTokens ?? "an unknown number of"} tokens`,
        `cost         ${costUsd === undefined ? "unknown" : `$${costUsd.toFixed(4)}`}`,
      ]);
    },
  },
  {
    name: "new",
    argument: "[first message]",
    summary: "start a new session; the old one stays in /resume",
    availability: "idle",
    async run(chat, text) {
      await chat.openNew();
      if (text !== "") chat.send(text);
    },
  },
  {
    name: "clear",
    summary: "start a new session on an empty screen",
    availability: "idle",
    async run(chat) {
      chat.clearScreen(false);
      await chat.openNew();
    },
  },
  {
    name: "usage",
    summary: "tokens and cost of this session",
    availability: "always",
    async run(chat) {
      const { requests, inputTokens, cacheReadTokens, outputTokens, reasoningTokens, costUsd, unpriced } =
        await chat.usage();
      const cached = inputTokens === 0 ? 0 : Math.round((cacheReadTokens / inputTokens) * 100);
      chat.print([
        `requests   ${requests}`,
        `input      ${inputTokens} tokens, ${cacheReadTokens} of them from the cache (${cached} %)`,
        `output     ${outputTokens} tokens, ${reasoningTokens} of them reasoning`,
        `cost       $${costUsd.toFixed(4)}${unpriced > 0 ? `, without ${unpriced} ${unpriced === 1 ? "request" : "requests"} of unknown price` : ""}`,
      ]);
    },
  },
  {
    name: "context",
    summary: "what every prompt begins with, and how full the window is",
    availability: "always",
    async run(chat) {
      const { contextUsed, facts } = chat.state();
      chat.print([`conversation  ${contextUsed} of ${facts?.contextTokens ?? "unknown"} tokens`]);
      await chat.runCli(["prompt-size"]);
    },
  },
  {
    name: "todo",
    summary: "the steps that the agent has planned",
    availability: "always",
    async run(chat) {
      const items = await chat.todos();
      chat.print(
        items.length === 0
          ? ["The agent has no list of steps."]
          : items.map(({ status, content }) => `${TODO_MARKS[status]} ${content}`),
      );
    },
  },
  {
    name: "reasoning",
    argument: "[LEVEL]",
    summary: "how hard the model thinks in this session",
    availability: "idle",
    complete: () => EFFORTS.map((value) => ({ value, summary: "" })),
    async run(chat, word) {
      if (word === "") return chat.print([`Reasoning effort: ${chat.reasoning()}`]);
      const reasoning = findEffort(word);
      if (reasoning === undefined) throw wrongUse(`"${word}" is not a level.`, `Type ${EFFORTS.join(", ")}.`);
      await chat.reopen({ reasoning });
      chat.print([`Reasoning effort from now on: ${reasoning}`]);
    },
  },
  {
    name: "export",
    argument: "[markdown|jsonl|html]",
    summary: "write the session to a file in this folder",
    availability: "always",
    complete: () => Object.keys(EXPORTS).map((value) => ({ value, summary: "" })),
    run(chat, word) {
      const sessionId = requireStored(chat);
      const format = word === "md" ? "markdown" : word || "markdown";
      const ending = EXPORTS[format];
      if (ending === undefined) throw wrongUse(`"${word}" is not a format.`, "Type markdown, jsonl or html.");
      return chat.runCli([
        "sessions",
        "export",
        sessionId,
        "--format",
        format,
        "-o",
        `${sessionId}.${ending}`,
      ]);
    },
  },
  {
    name: "resume",
    argument: "[ID|TITLE|TEXT]",
    summary: "open another session, or choose one",
    availability: "idle",
    async run(chat, which) {
      if (which === "") return chat.pickSession("");
      try {
        await chat.open({ choice: { resume: which } });
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "session-not-found") throw error;
        await chat.pickSession(which);
      }
    },
  },
  {
    name: "sessions",
    argument: "[TEXT]",
    summary: "choose, rename or delete a session; searches their messages",
    availability: "idle",
    run: (chat, text) => chat.pickSession(text),
  },
  {
    name: "title",
    argument: "TITLE",
    summary: "name the session",
    availability: "always",
    run(chat, title) {
      if (title === "") throw wrongUse("/title needs a title.", "Type /title login test");
      return chat.runCli(["sessions", "rename", requireStored(chat), title]);
    },
  },
  {
    name: "search",
    argument: "TEXT",
    summary: "search all sessions",
    availability: "always",
    run(chat, text) {
      if (text === "") throw wrongUse("/search needs words.", "Type /search login test");
      return chat.runCli(["sessions", "search", text]);
    },
  },
  {
    name: "history",
    summary: "the transcript of this session in the pager",
    availability: "always",
    run: (chat) => chat.pageCli(["sessions", "show", requireStored(chat)]),
  },
  {
    name: "model",
    argument: "[NAME|PROVIDER:NAME]",
    summary: "choose the model of this session",
    availability: "idle",
    async run(chat, name) {
      if (name === "") return chat.pickModel("");
      await chat.reopen({ model: name });
      chat.print([`This session uses ${requireFacts(chat).model} from now on.`]);
    },
  },
  {
    name: "models",
    argument: "[FILTER]",
    summary: "list the models that can be used",
    availability: "always",
    run: (chat, filter) => chat.runCli(["model", "list", ...splitWords(filter)]),
  },
  {
    name: "undo",
    argument: "[TURNS]",
    summary: "hide the last turns from the model; files stay as they are",
    availability: "idle",
    run: (chat, count) => chat.runCli(["sessions", "undo", requireStored(chat), ...splitWords(count)]),
  },
  {
    name: "redo",
    summary: "restore the turns of the last undo",
    availability: "idle",
    run: (chat) => chat.runCli(["sessions", "redo", requireStored(chat)]),
  },
  {
    name: "rollback",
    argument: "[TURNS|list]",
    summary: "undo what turns did to the project's files; needs checkpoints.enabled",
    availability: "idle",
    run: (chat, argument) =>
      chat.runCli(["rollback", ...(argument === "list" ? ["--list"] : splitWords(argument))]),
  },
  {
    name: "branch",
    argument: "[MESSAGE]",
    summary: "continue in a copy of the session, up to a message of /history",
    availability: "idle",
    async run(chat, message) {
      const at = message === "" ? [] : ["--at", message];
      const lines = await chat.runCli(["sessions", "branch", requireStored(chat), ...at]);
      const id = lines.find((line) => SESSION_ID.test(line));
      if (id !== undefined) await chat.open({ choice: { resume: id } });
    },
  },
  {
    name: "compress",
    argument: "[FOCUS]",
    summary: "summarise the older part of the session",
    availability: "idle",
    run(chat, focus) {
      const kept = focus === "" ? [] : ["--focus", focus];
      return chat.runCli(["sessions", "compact", requireStored(chat), ...kept]);
    },
  },
  {
    name: "tree",
    summary: "the branches of the sessions",
    availability: "always",
    run: (chat) => chat.runCli(["sessions", "tree"]),
  },
];
