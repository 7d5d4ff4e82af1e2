import { AppError } from "../../lib/errors.ts";
import type { Reporter } from "../environment-request.ts";
import { noteInfo, probeCapabilities } from "./capabilities.ts";
import type { Container } from "./container.ts";
import type { CreateFacts } from "./create-arguments.ts";
import { createContainer, removeUnused } from "./create-container.ts";
import type { Engine, EngineInfo } from "./engine.ts";
import { loadEngineInfo } from "./engine-info.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { ensureImage } from "./sandbox-image.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";
import { startContainer } from "./start-container.ts";
import { tellOnce } from "./tell-once.ts";
import {
  openKeptFolders,
  prepareFolders,
  REFUSED_SETTINGS_HINT,
  UNUSABLE_IMAGE_HINT,
  verifyMounts,
} from "./verify-mounts.ts";

const REMOVAL_MS = 60_000;

export type Made =
  | { readonly id: string }
  /** Somebody else has a container of that name; it may not run yet. */
  | { readonly winner: Container };

/** Creates and starts the container of a spec, and proves that it works. Whatever fails, ours is gone afterwards. */
export async function makeSandbox(
  engine: Engine,
  spec: SandboxSpec,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<Made> {
  const info = await loadEngineInfo(engine, signal);
  if (spec.runtime !== "" && info.runtimes !== undefined && !info.runtimes.includes(spec.runtime)) {
    throw new AppError("sandbox-refused", `The engine has no runtime ${spec.runtime}.`, {
      hint: `Set terminal.docker_runtime to one of ${info.runtimes.join(", ")}, or install it.`,
    });
  }
  const image = await ensureImage(engine, spec, reporter, signal);
  await prepareFolders(spec);
  const limitations: string[] = [];
  noteInfo(engine, info, spec, { ...reporter, onNotice: (text) => limitations.push(text) });
  for (const text of limitations) await tellOnce(spec.sandboxesFolder, text, reporter);
  const facts = (): CreateFacts => ({
    lacking: new Set(engine.memory.lacking),
    engineCpus: info.cpus,
    s6: image.s6,
  });
  for (;;) {
    const tried = facts();
    const made = await attempt(engine, spec, tried, info, signal);
    if (!("complaint" in made)) return made;
    const refused = await probeCapabilities(engine, spec, tried, reporter, signal);
    if (refused.length > 0) continue; // each round leaves out more, so this ends
    throw new AppError(
      "sandbox-unavailable",
      `Cannot start a sandbox from ${spec.image}: ${made.complaint}`,
      { hint: made.hint },
    );
  }
}

async function attempt(
  engine: Engine,
  spec: SandboxSpec,
  facts: CreateFacts,
  info: EngineInfo,
  signal: AbortSignal,
): Promise<Made | { readonly complaint: string; readonly hint: string }> {
  const creation = await createContainer(engine, spec, facts, signal);
  if ("complaint" in creation) return { ...creation, hint: REFUSED_SETTINGS_HINT };
  if ("winner" in creation) return creation;
  const { id } = creation;
  try {
    const start = await startContainer(engine, { id, state: "created" }, signal);
    if ("complaint" in start) {
      await removeUnused(engine, id);
      return { complaint: start.complaint, hint: UNUSABLE_IMAGE_HINT };
    }
    if (!canWorkInFolders(start.container, spec, info)) await openKeptFolders(spec);
    await verifyMounts(engine, id, spec, signal);
  } catch (error) {
    // One that does not work is of no use to those who joined meanwhile either. When we were only told to stop, they
    // may keep it.
    if (error instanceof AppError || !spec.persistAcrossProcesses) {
      await removeSandbox(engine, id, AbortSignal.timeout(REMOVAL_MS));
    } else {
      await removeUnused(engine, id);
    }
    throw error;
  }
  return { id };
}

/** Root may do everything in them, and the host user owns them, unless the engine gives the user another number. */
function canWorkInFolders({ user }: Container, spec: SandboxSpec, { rootless }: EngineInfo): boolean {
  if (/^(root|0)?(:|$)/.test(user)) return true;
  return !rootless && spec.user !== undefined && spec.user.uid === process.getuid?.();
}
