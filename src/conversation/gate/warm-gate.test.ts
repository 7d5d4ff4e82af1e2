import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { AppError } from "../../lib/errors.ts";
import { readOwnIdentity } from "../../lib/process/process-identity.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { parseRules } from "../../policy/rules/rule-file.ts";
import { openSessionStore } from "../../sessions/session-store.ts";
import type { Tool } from "../../tools/tool.ts";
import { warmGate } from "./warm-gate.ts";

test("warming up the gate runs the tool's checks with each decision; its decisions ask no person or model and use up no approval, even if a rule asks about every command", async () => {
  await using folder = await tempFolder();
  using store = await openSessionStore(folder.file("sessions.sqlite"), {}, neverAborted);
  const inputs: string[] = [];
  let warmed = 0;
  const terminal: Tool = {
    name: "terminal",
    toolset: "terminal",
    description: "",
    inputSchema: {},
    mutates: true,
    effectsOf(input) {
      inputs.push(input);
      return { commands: [(JSON.parse(input) as { command: string }).command] };
    },
    call: async () => expect.unreachable("no call runs"),
    warm() {
      warmed += 1;
    },
  };
  const rules = parseRules(
    { allow: [], ask: ["*"], deny: [] },
    "user",
    new Set(),
    (text) => new AppError("rules-invalid", text),
  );
  const parts = {
    policy: {
      state: { mode: "smart", isYolo: false, isPlanning: false },
      rules: async () => rules,
      environment: { isIsolated: false, reason: "", sharesProcesses: true, home: folder.path },
      cwd: () => folder.path,
      hermesHome: folder.file("home"),
      ownPids: [],
      rememberedRules: () => [],
      useGrant: async () => expect.unreachable("no approval is used"),
      review: async () => expect.unreachable("the reviewer is not asked"),
      knownTools: new Set<string>(),
      unattended: "ask",
    },
    queue: store.approvals,
    sessionId: "s",
    identity: await readOwnIdentity(neverAborted),
    clock: systemClock,
    timeoutMs: undefined,
    task: undefined,
    takeReviews: () => [],
    redact: (text: string) => text,
  } as const;
  await warmGate(parts, terminal, neverAborted);
  expect(inputs).not.toEqual([]);
  expect(warmed).toBe(inputs.length);
  expect(store.approvals.since(0)).toEqual([]);
});
