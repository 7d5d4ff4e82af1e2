import type { Finding } from "../commands/classify-command.ts";
import type { CommandClass } from "../commands/command-classes.ts";
import { hermesCommand } from "../commands/hermes-command.ts";
import { isSecretFile } from "../commands/sensitive-paths.ts";
import { formatInvocation, type Invocation } from "../shell-reader/invocation.ts";
import type { CommandReading } from "../shell-reader/read-command.ts";
import { findSending, setsProxy } from "./network-programs.ts";

/** The kinds of effects that need an answer while the conversation contains untrusted text. */
export type TaintedUse = "send" | "credentials" | "memory";

export interface TaintedEffect {
  readonly use: TaintedUse;
  /** The end of a sentence whose subject is the call. */
  readonly effect: string;
}

/** The built-in classes that send something, use credentials, or affect later sessions. */
const CLASSES: Partial<Readonly<Record<CommandClass, TaintedUse>>> = {
  "data-upload": "send",
  "remote-shell": "send",
  "remote-code": "send",
  "decoded-code": "send",
  "injected-code": "send",
  "unknown-program": "send",
  "cloud-metadata": "credentials",
  "nested-agent": "send",
  "git-force-push": "send",
  publish: "send",
  deploy: "send",
  "credential-access": "credentials",
  "credential-write": "credentials",
  "env-file-write": "credentials",
  "agent-settings-write": "memory",
  "startup-file-write": "memory",
  "scheduled-task": "memory",
};
/** Files that instruct agents in later sessions, or that git runs in later commands. */
const AGENT_FILES =
  /\/\.git\/(?:hooks\/|config$)|\/\.husky\/|\/(?:AGENTS|CLAUDE|GEMINI|HERMES|SOUL|MEMORY|SKILL)\.md$|\/\.hermes\.md$|\/\.cursorrules$|\/\.cursor\/rules\/|\/copilot-instructions\.md$|\/(?:memories|skills)\//i;

/** Whether a command of Hermes writes text that the agent of a task will read. */
function givesWork(invocation: Invocation): boolean {
  const { noun, verb = "" } = hermesCommand(invocation) ?? {};
  return noun === "kanban" && /^(?:create|import|plan|edit|comment|decompose|specify|attach)$/.test(verb);
}

/** The effects of a call that untrusted text must not bring about without an answer. */
export function findTaintedEffects(call: {
  readonly tool: string;
  readonly readings: readonly Pick<CommandReading, "invocations" | "variables">[];
  readonly findings: readonly Finding[];
  /** Commands with code that uses the network. */
  readonly networkCode: readonly string[];
  readonly hosts: readonly string[];
  readonly instructsAgents: boolean;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}): readonly TaintedEffect[] {
  const { tool, readings, findings, networkCode, hosts, reads, writes } = call;
  const task = readings.flatMap(({ invocations }) => invocations).find(givesWork);
  const secret = reads.find(isSecretFile);
  const agentFile = writes.find((path) => AGENT_FILES.test(path));
  return [
    ...(readings.some(setsProxy)
      ? [{ use: "send", effect: "sends requests through a proxy that it names" } as const]
      : []),
    ...readings.flatMap(({ invocations }) =>
      invocations.flatMap((invocation: Invocation): TaintedEffect[] => {
        const effect = findSending(invocation);
        return effect === undefined
          ? []
          : [{ use: "send", effect: `${effect} (\`${formatInvocation(invocation)}\`)` }];
      }),
    ),
    ...networkCode.map(
      (command): TaintedEffect => ({ use: "send", effect: `uses the network (\`${command}\`)` }),
    ),
    ...(hosts.length === 0
      ? []
      : [{ use: "send", effect: `contacts ${hosts.join(", ")} (${tool})` } as const]),
    ...findings.flatMap(({ class: name, effect, command }): TaintedEffect[] => {
      const use = CLASSES[name];
      return use === undefined ? [] : [{ use, effect: `${effect} (\`${command}\`)` }];
    }),
    ...(call.instructsAgents
      ? [{ use: "memory", effect: `gives another agent work (${tool})` } as const]
      : []),
    ...(task === undefined
      ? []
      : [{ use: "memory", effect: `gives another agent work (\`${formatInvocation(task)}\`)` } as const]),
    ...(secret === undefined ? [] : [{ use: "credentials", effect: `reads ${secret}` } as const]),
    ...(agentFile === undefined
      ? []
      : [
          { use: "memory", effect: `changes ${agentFile}, which later sessions or commands follow` } as const,
        ]),
  ];
}
