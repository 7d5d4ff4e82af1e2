import { hasOption, operandsOf } from "../arguments.ts";
import type { Match } from "../command-classes.ts";
import { hermesArguments, hermesCommand } from "../hermes-command.ts";
import type { ClassRule } from "./class-rule.ts";

/** Commands with which an agent would control the Hermes that runs it. */
export const checkAgentControl: ClassRule = ({ name, args }) => {
  if (name !== "hermes") return undefined;
  const [first = "", second = ""] = operandsOf(args, /^(?:-p|--profile)$/);
  const controls =
    /^(?:update|uninstall)$/.test(first) ||
    (first === "gateway" && /^(?:stop|restart|uninstall|install)$/.test(second)) ||
    (first === "config" && /^(?:set|unset|edit)$/.test(second)) ||
    (first === "profile" && second === "delete") ||
    (first === "approvals" && !/^(?:|list|show|classes|pending)$/.test(second)) ||
    args.includes("--yolo");
  return controls ? { class: "agent-control", effect: "changes or stops Hermes itself" } : undefined;
};

const OTHER_AGENTS =
  /^(?:claude|codex|gemini|opencode|aider|goose|amp|cursor-agent|copilot|crush|qwen|openhands)$/;

/** Commands that start another agent, whose calls no policy of this session checks. */
export const checkNestedAgents: ClassRule = (invocation) => {
  const { name, args, remote } = invocation;
  const own = hermesArguments(invocation);
  const starts = (): Match => ({ class: "nested-agent", effect: "starts another agent with its own rules" });
  if (OTHER_AGENTS.test(name) && !remote)
    return args.length > 0 &&
      !/^(?:-v|-V|-h|--version|--help|help|update|doctor|mcp|config|login)$/.test(args[0] ?? "")
      ? starts()
      : undefined;
  if (own === undefined || remote) return undefined;
  const { noun = "", verb = "" } = hermesCommand(invocation) ?? {};
  const startsAgent =
    hasOption(own, /^(?:-z|--oneshot|-q|--query|--query-file)(?:=|$)/) ||
    (noun === "chat" && !hasOption(own, /^(?:-h|--help)$/)) ||
    (noun === "kanban" && /^(?:daemon|dispatch)$/.test(verb)) ||
    (noun === "sandbox" && /^(?:exec|shell|attach|jobs)$/.test(verb));
  return startsAgent ? starts() : undefined;
};
