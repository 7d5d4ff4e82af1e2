import { AppError } from "../../../lib/errors.ts";
import type { Reporter } from "../../environment-request.ts";
import type { Engine, EngineInfo } from "../engine/engine.ts";
import { loadEngineInfo } from "../engine/engine-info.ts";
import {
  makeKeptFoldersWritable,
  prepareFolders,
  REFUSED_SETTINGS_HINT,
  UNUSABLE_IMAGE_HINT,
  verifyMounts,
} from "../isolation/verify-mounts.ts";
import { probeCapabilities, recordUnsupported } from "../spec/capabilities.ts";
import type { CreateFacts } from "../spec/create-arguments.ts";
import { ensureImage } from "../spec/sandbox-image.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import type { Container } from "./container.ts";
import { createContainer, removeUnlessRunning } from "./create-container.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { reportOnce } from "./report-once.ts";
import { startContainer } from "./start-container.ts";

const REMOVAL_MS = 60_000;

export type CreatedSandbox =
  | { readonly id: string }
  /** Another process has a container of that name; it may not run yet. */
  | { readonly winner: Container };

/** Creates and starts the container of a spec, and verifies that it works. A failure removes the container. */
export async function createSandbox(
  engine: Engine,
  spec: SandboxSpec,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<CreatedSandbox> {
  if (spec.refusal !== undefined) throw spec.refusal;
  const info = await loadEngineInfo(engine, signal);
  if (spec.runtime !== "" && info.runtimes !== undefined && !info.runtimes.includes(spec.runtime)) {
    const hint = `Set terminal.docker_runtime to one of ${info.runtimes.join(", ")}, or install it.`;
    throw new AppError("sandbox-refused", `The engine has no runtime ${spec.runtime}.`, { hint });
  }
  const image = await ensureImage(engine, spec, reporter, signal);
  await prepareFolders(spec);
  const limitations: string[] = [];
  recordUnsupported(engine, info, spec, { ...reporter, onNotice: (text) => limitations.push(text) });
  for (const text of limitations) await reportOnce(spec.sandboxesFolder, text, reporter);
  const facts = (): CreateFacts => ({
    missingCapabilities: new Set(engine.cache.missingCapabilities),
    engineCpus: info.cpus,
    s6: image.s6,
  });
  for (;;) {
    const tried = facts();
    const created = await attempt(engine, spec, tried, info, signal);
    if (!("complaint" in created)) return created;
    const refusedCapabilities = await probeCapabilities(engine, spec, tried, reporter, signal);
    if (refusedCapabilities.length > 0) continue; // terminates, because each attempt omits more capabilities
    throw new AppError(
      "sandbox-unavailable",
      `Cannot start a sandbox from ${spec.image}: ${created.complaint}`,
      { hint: created.hint },
    );
  }
}

async function attempt(
  engine: Engine,
  spec: SandboxSpec,
  facts: CreateFacts,
  info: EngineInfo,
  signal: AbortSignal,
): Promise<CreatedSandbox | { readonly complaint: string; readonly hint: string }> {
  const creation = await createContainer(engine, spec, facts, signal);
  if ("complaint" in creation) return { ...creation, hint: REFUSED_SETTINGS_HINT };
  if ("winner" in creation) return creation;
  const { id } = creation;
  try {
    const start = await startContainer(engine, { id, state: "created" }, signal);
    if ("complaint" in start) {
      await removeUnlessRunning(engine, id);
      return { complaint: start.complaint, hint: hintForStart(start.complaint, spec) };
    }
    if (!canWorkInFolders(start.container, spec, info)) await makeKeptFoldersWritable(spec);
    await verifyMounts(engine, id, spec, signal);
  } catch (error) {
    // A sandbox that does not work is useless to every process. After a mere abort, other processes that have joined
    // a persistent sandbox keep it.
    if (error instanceof AppError || !spec.persistAcrossProcesses) {
      await removeSandbox(engine, id, AbortSignal.timeout(REMOVAL_MS));
    } else {
      await removeUnlessRunning(engine, id);
    }
    throw error;
  }
  return { id };
}

/** The extra arguments are the likely cause, unless the complaint is that a program is missing or exits. */
function hintForStart(complaint: string, { extraArguments }: SandboxSpec): string {
  // Only the names of the flags, because values may be secret.
  const flags = extraArguments.filter((word) => word.startsWith("-")).map((word) => word.replace(/=.*/s, ""));
  if (flags.length === 0 || /^it exited immediately|exec:|executable file/.test(complaint))
    return UNUSABLE_IMAGE_HINT;
  return `The engine may not support the flags in terminal.docker_extra_args (${flags.join(" ")}). Try without them.`;
}

/** Root and the host user can write to the kept folders, unless a rootless engine maps the user to another uid. */
function canWorkInFolders({ user }: Container, spec: SandboxSpec, { rootless }: EngineInfo): boolean {
  if (/^(root|0)?(:|$)/.test(user)) return true;
  return !rootless && spec.user !== undefined && spec.user.uid === process.getuid?.();
}
