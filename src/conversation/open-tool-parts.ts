import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { createOutputWindow } from "../environments/output-window.ts";
import { createSpillFile, withRedaction } from "../environments/spill-file.ts";
import { resolveLinks } from "../lib/files/resolve-links.ts";
import type { Redactor } from "../lib/redact/redactor.ts";
import { systemClock } from "../lib/time/clock.ts";
import { createFileGuards, type FileGuards } from "../policy/guarded-files.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import { createMovedCommands } from "../tools/terminal/moved-commands.ts";
import type { ToolParts } from "../tools/tool-parts.ts";
import type { ConversationRequest } from "./conversation-request.ts";
import { createPastSessions } from "./past-sessions.ts";

/** Opens the dependencies of a session's tools. */
export async function openToolParts(
  request: ConversationRequest,
  openEnvironment: ToolParts["openEnvironment"],
  { owner, cwd }: { readonly owner: string; readonly cwd: string },
  store: SessionStore,
  onUntrusted: (source: string) => void,
  vision: ToolParts["vision"],
  onMovedEnded: (sentence: string) => void,
): Promise<ToolParts> {
  const { spillHome, settings, redactor, surface, environment } = request;
  const { max_bytes: maxBytes, spill_max_bytes: spillBytes } = settings.tool_output;
  const redact: Redactor["redact"] = settings.security.redact_secrets
    ? redactor.redact
    : redactor.redactKnown;
  return {
    openEnvironment,
    owner,
    guards: await openFileGuards(request, cwd),
    pastSessions: createPastSessions(store, (text) => redactor.redact(text), onUntrusted),
    limits: {
      timeout: environment.options.timeout,
      maxForegroundTimeout: environment.options.max_foreground_timeout,
    },
    moved: createMovedCommands(onMovedEnded),
    canNotify: surface.canNotify,
    hasSandbox: environment.options.backend === "local" && environment.options.local_sandbox !== "off",
    fileSending: surface.fileSending,
    vision,
    findAnswer:
      surface.whenApprovalNeeded === "ask"
        ? (callId) => store.approvals.findByCall(owner, callId)?.answer
        : undefined,
    redact,
    createWindow: () =>
      createOutputWindow({
        maxBytes,
        spill: withRedaction(
          createSpillFile({ home: spillHome, maxBytes: spillBytes, now: () => systemClock.now() }),
          (text) => redact(text),
        ),
      }),
  };
}

/** `cwd` is the folder in which the session works. The guards compare real paths, so each folder counts under both of its paths. */
async function openFileGuards(
  { home, settings, environment, surface }: ConversationRequest,
  cwd: string,
): Promise<FileGuards> {
  const toPaths = (folders: readonly string[]): string[] =>
    folders
      .filter((folder) => folder !== "")
      .map((folder) => resolve(folder.replace(/^~(?=$|\/)/, environment.userHome)));
  const roots = toPaths(settings.security.write_safe_root.split(":"));
  const sendRoots = [cwd, "/tmp", tmpdir(), ...toPaths(surface.fileSending?.folders ?? [])];
  const withReal = async (folders: readonly string[]) => [
    ...new Set([...folders, ...(await Promise.all(folders.map((folder) => resolveLinks(folder))))]),
  ];
  return createFileGuards({
    homes: await withReal([home]),
    writeRoots: await withReal(roots),
    sendRoots: environment.options.backend === "local" ? await withReal(sendRoots) : undefined,
  });
}
