import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCallGate } from "../src/conversation/gate/call-gate.ts";
import { readOwnIdentity } from "../src/lib/process/process-identity.ts";
import { createRedactor } from "../src/lib/redact/redactor.ts";
import { systemClock } from "../src/lib/time/clock.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { openRuleSource } from "../src/policy/rules/rule-source.ts";
import { createTrustedRules } from "../src/policy/rules/trusted-rules.ts";
import type { ToolCallPart } from "../src/providers/message.ts";
import { openSessionStore } from "../src/sessions/session-store.ts";
import type { Tool } from "../src/tools/tool.ts";
import { TOOL_NAMES } from "../src/tools/tool-table.ts";

const USER_HOME = "/home/ann";
const RULES = {
  allow: ["npm publish --dry-run*", "write(docs/**)", "class:env-file-write", "git push origin main"],
  ask: ["git push *", "read(**/*.pem)", "host(*.example.com)", "docker compose down*"],
  deny: ["terraform destroy*", "write(**/*.lock)", "kubectl delete ns*", "class:remote-shell"],
};

/** The gate of an unattended session, with rules from files. */
export async function openGate(folder: string) {
  const configPath = join(folder, "config.yaml");
  await writeFile(configPath, "approvals: {}\n");
  const store = await openSessionStore(join(folder, "sessions.sqlite"), {}, neverAborted);
  const source = await openRuleSource({
    managedPath: join(folder, "managed.yaml"),
    configPath,
    loadUserRules: async () => RULES,
    trusted: createTrustedRules(folder),
    projectFolder: folder,
    knownTools: TOOL_NAMES,
    report: () => undefined,
  });
  const redactor = createRedactor({ secrets: ["a-secret-of-the-profile"] });
  const gate = createCallGate({
    policy: {
      state: { mode: "manual", isYolo: false, isPlanning: false },
      rules: source.rules,
      environment: { isIsolated: false, reason: "", sharesProcesses: true, home: USER_HOME },
      cwd: () => `${USER_HOME}/project`,
      hermesHome: `${USER_HOME}/.hermes`,
      ownPids: [process.pid],
      rememberedRules: () => store.approvals.rememberedRules("none"),
      useGrant: (hash, signal) => store.approvals.useGrant("none", hash, signal),
      knownTools: TOOL_NAMES,
      unattended: "deny",
    },
    queue: store.approvals,
    sessionId: "none",
    identity: await readOwnIdentity(neverAborted),
    clock: systemClock,
    timeoutMs: undefined,
    task: undefined,
    takeReviews: () => [],
    redact: (text) => redactor.redact(text),
  });
  const terminal: Tool = {
    name: "terminal",
    toolset: "terminal",
    description: "",
    inputSchema: {},
    mutates: true,
    effectsOf: (input) => ({ commands: [(JSON.parse(input) as { command: string }).command] }),
    call: async () => ({ failed: false, text: "" }),
  };
  return {
    async decide(command: string): Promise<void> {
      const input = JSON.stringify({ command });
      const call: ToolCallPart = { type: "tool-call", callId: "c", tool: "terminal", input };
      const decided = await gate.decide(call, terminal, neverAborted);
      if ("approval" in decided) throw new Error(`${command} asked a person`);
    },
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]();
    },
  };
}
