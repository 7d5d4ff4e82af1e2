import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { AgentEvent } from "../../src/agent/events.ts";
import { openApp } from "../../src/app/app.ts";
import { openTurnHost } from "../../src/app/server/turn-host.ts";
import { writeSecret } from "../../src/config/files/write-setting.ts";
import type { Surface } from "../../src/conversation/conversation-request.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import type { HostedTurn, TurnHost, TurnHostSize } from "../../src/turns/turn-host.ts";
import type { JournalItem } from "../../src/turns/turn-journal.ts";
import { tempFolder } from "./temp-folder.ts";

const NO_LIMITS = { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: undefined };

export const TEST_SURFACE: Surface = {
  source: "test",
  instructions: "",
  canNotify: false,
  takesNotes: true,
  haltsLoops: true,
  showsText: true,
  whenApprovalNeeded: "ask",
  titledBy: "message",
};

/** A home whose model follows a script, as a value of the composition root. */
export async function openScriptedApp(script: ScriptInput, settings: object = {}) {
  const folder = await tempFolder();
  const home = folder.file("home");
  await mkdir(home, { mode: 0o700 });
  await writeFile(folder.file("script.json"), JSON.stringify(script));
  await writeFile(
    join(home, "config.yaml"),
    stringify({ model: { provider: "scripted", default: folder.file("script.json") }, ...settings }),
  );
  const open = () =>
    openApp({
      profile: undefined,
      variables: { PATH: process.env["PATH"], HOME: folder.path, HERMES_HOME: home },
      userHome: folder.path,
    });
  const setSecret = (name: string, value: string) =>
    writeSecret(join(home, ".env"), home, name, value, neverAborted);
  return {
    folder,
    home,
    open,
    setSecret,
    app: await open(),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** A host of turns with a scripted model. */
export async function openTestHost(script: ScriptInput, size: Partial<TurnHostSize> = {}, settings = {}) {
  const scripted = await openScriptedApp(script, settings);
  const host = await openHostOf(scripted, size);
  return {
    ...scripted,
    host,
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await scripted[Symbol.asyncDispose]();
    },
  };
}

/** Another host, as another process has it, for the same home. */
export function openHostOf(
  { app, folder }: Awaited<ReturnType<typeof openScriptedApp>>,
  size: Partial<TurnHostSize> = {},
): Promise<TurnHost> {
  const onBug = (error: unknown): never => {
    throw error;
  };
  return openTurnHost(app, { notify: () => undefined, onBug, cwd: folder.path, size }, neverAborted);
}

export function startTurn(
  host: TurnHost,
  text: string,
  more: { sessionId?: string | undefined; whenBusy?: "refuse" | "wait"; isSingle?: boolean } = {},
): HostedTurn {
  return host.start({
    sessionId: undefined,
    whenBusy: "refuse",
    opening: { surface: TEST_SURFACE },
    message: { text },
    limits: NO_LIMITS,
    ...more,
  });
}

export async function collect(turn: HostedTurn, after = 0): Promise<JournalItem[]> {
  const items: JournalItem[] = [];
  for await (const item of turn.watch(after, neverAborted)) items.push(item);
  return items;
}

/** Watches a turn until it has an event of a type. */
export async function waitFor(turn: HostedTurn, type: AgentEvent["type"]): Promise<void> {
  for await (const item of turn.watch(0, neverAborted))
    if ("event" in item && item.event.type === type) return;
  throw new Error(`the turn ended without ${type}`);
}
