import { join } from "node:path";
import { type ContextRules, loadContextFile } from "../../agent/prompt/context-file.ts";
import { findProjectContext } from "../../agent/prompt/project-context.ts";
import type { PromptFacts } from "../../agent/prompt/system-prompt.ts";
import type { EnvironmentRequest } from "../../environments/environment-request.ts";
import type { ToolDefinition } from "../../providers/provider.ts";
import { NO_TODOS } from "../../tools/todo.ts";
import type { Tool } from "../../tools/tool.ts";
import type { ToolParts } from "../../tools/tool-parts.ts";
import { createTools, TOOLSETS } from "../../tools/tool-table.ts";

/** Collects the facts from which the system prompt of a new session is built. */
export async function loadPromptFacts(
  request: {
    /** The profile's home, whose SOUL.md describes the agent's identity. */
    readonly home: string;
    readonly environment: Pick<EnvironmentRequest, "options" | "cwd">;
    readonly surface: {
      readonly instructions: string;
      readonly takesNotes: boolean;
    };
    readonly now: number;
    /** How SOUL.md and the project's instructions are read; undefined if they are not used. */
    readonly contextRules: ContextRules | undefined;
  },
  tools: ReadonlyMap<string, Tool>,
  signal: AbortSignal,
): Promise<PromptFacts> {
  const { home, environment, surface, now, contextRules: rules } = request;
  const { backend, docker_mount_cwd_to_workspace: isMounted } = environment.options;
  const seesWorkingFolder = backend === "local" || isMounted;
  const [soul, project] = await Promise.all([
    rules && loadContextFile(join(home, "SOUL.md"), rules, undefined, signal),
    rules && seesWorkingFolder ? findProjectContext(environment.cwd, rules, signal) : undefined,
  ]);
  return {
    identity: soul?.isLeftOut ? undefined : soul?.text,
    tools: [...tools.keys()],
    environment: describeEnvironment(environment),
    project,
    date: new Date(now).toISOString().slice(0, 10),
    surface: surface.instructions,
    takesNotes: surface.takesNotes,
  };
}

function describeEnvironment({ options, cwd }: Pick<EnvironmentRequest, "options" | "cwd">): string {
  switch (options.backend) {
    case "local":
      return `Commands run on the user's own machine, starting in ${cwd}.${options.local_sandbox === "off" ? "" : " They run in a sandbox that protects other files; /tmp belongs to the sandbox."}`;
    case "ssh":
      return `Commands run on ${options.ssh_host} as ${options.ssh_user}, not on the user's own machine.`;
    default:
      return `Commands run in a ${options.backend} sandbox, not on the user's own machine; save files that must be kept in /workspace.`;
  }
}

export function createToolDefinitions(tools: ReadonlyMap<string, Tool>): ToolDefinition[] {
  return [...tools.values()].map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }));
}

/** The tools that a session would offer, for inspection only: they cannot be called. */
export function describeTools(offer: {
  readonly limits: ToolParts["limits"];
  readonly canAsk: boolean;
  readonly canSee: boolean;
  readonly disabled: readonly string[];
}): ReadonlyMap<string, Tool> {
  const refuseCall = (): never => {
    throw new Error("a tool that is only described was called");
  };
  const parts: ToolParts = {
    openEnvironment: refuseCall,
    owner: "",
    guards: { read: refuseCall, write: refuseCall, send: refuseCall },
    limits: offer.limits,
    moved: { hasRoom: false, add: refuseCall, list: refuseCall },
    canNotify: false,
    fileSending: undefined,
    vision: offer.canSee ? { maxBytes: 0, look: refuseCall } : undefined,
    findAnswer: offer.canAsk ? refuseCall : undefined,
    pastSessions: { search: refuseCall, list: refuseCall, find: refuseCall, messages: refuseCall },
    redact: refuseCall,
    createWindow: refuseCall,
  };
  return createTools(parts, { toolsets: enabledToolsets(offer.disabled), todos: NO_TODOS, added: [] });
}

export function enabledToolsets(
  disabled: readonly string[],
  wanted: readonly string[] = TOOLSETS,
): ReadonlySet<string> {
  return new Set(TOOLSETS.filter((name) => wanted.includes(name) && !disabled.includes(name)));
}
