import { rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { ensurePrivateFolder } from "../../../lib/files.ts";
import type { Reporter } from "../../environment-request.ts";
import { findContainer } from "../container.ts";
import { complaintOf, type Engine, succeeded } from "../engine.ts";
import { makeSandbox } from "../make-sandbox.ts";
import { removeSandbox } from "../remove-sandbox.ts";
import { asideName, sandboxKey, uniqueName } from "../sandbox-names.ts";
import { noteSandbox, type SandboxPlace } from "../sandbox-record.ts";
import type { SandboxSpec } from "../sandbox-spec.ts";
import { fingerprintOf } from "../spec-fields.ts";
import { unpackArchive } from "./archive.ts";
import { exists, moveFolder, type Operation, removeFolder } from "./operation.ts";
import { type SnapshotManifest, snapshotsFolder } from "./snapshot-store.ts";

const RENAME_TIMEOUT_MS = 10_000;
const UNDO_MS = 90_000;

/** What a sandbox begins with. */
export interface Seed {
  /** Copies of its own, which become the sandbox's: they are moved, not copied again. */
  readonly folder: string;
  /** May be another's; it is only read. */
  readonly archive: string;
  readonly origin: string;
  readonly about: Pick<SnapshotManifest, "image" | "docker_image" | "folders" | "archived">;
}

/** Where the folders of a task's sandbox lie. */
export function keyFolder({ sandboxesFolder, profileId }: SandboxPlace, task: string): string {
  return join(sandboxesFolder, "docker", sandboxKey(profileId, task));
}

/** Where folders wait that gave way to others; nothing in it is removed before its time. */
export function asideFolder(place: SandboxPlace): string {
  return join(snapshotsFolder(place), "aside");
}

/** The file beside a sandbox's folders that says they are not complete without the container that is being made. */
export function plantMark(operationId: string): string {
  return `.unfinished-${operationId}`;
}

/**
 * Makes the sandbox of a spec from a seed. It works under another name until all is in place; the rename at the end is
 * what makes it the task's. Whatever fails, neither container nor folders are left.
 */
export async function plantSandbox(
  engine: Engine,
  spec: SandboxSpec,
  place: SandboxPlace,
  seed: Seed,
  operation: Operation,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<string> {
  requireSamePlaces(spec, seed);
  const target = keyFolder(place, spec.task);
  const mark = plantMark(operation.id);
  await writeFile(join(seed.folder, mark), "", { mode: 0o600 });
  const cleared = await clearTheWay(place, target, operation, reporter);
  await ensurePrivateFolder(join(target, ".."));
  await moveFolder(seed.folder, target);
  let id: string | undefined;
  try {
    const made = await makeSandbox(engine, seededSpec(spec, seed), reporter, signal);
    if (!("id" in made)) throw taken(spec);
    id = made.id;
    if (seed.about.archived.length > 0) await unpackArchive(engine, id, seed.archive, signal);
    await operation.note({ planted: id });
    const renamed = await engine.run(["rename", id, spec.name], { timeoutMs: RENAME_TIMEOUT_MS }, signal);
    if (!succeeded(renamed)) {
      if ((await findContainer(engine, spec.name, signal)) !== undefined) throw taken(spec);
      throw new AppError(
        "sandbox-unavailable",
        `The new sandbox cannot be named ${spec.name}: ${complaintOf(renamed)}`,
      );
    }
  } catch (error) {
    const undo = AbortSignal.timeout(UNDO_MS);
    if (id !== undefined) await removeSandbox(engine, id, undo);
    // Who was quicker works in these folders now.
    if ((await findContainer(engine, spec.name, undo)) === undefined) {
      await discardFolder(place, target);
      if (cleared !== undefined) await moveFolder(cleared, target);
    }
    throw error;
  }
  await noteSandbox(engine, place, { id, task: spec.task });
  await rm(join(target, mark), { force: true });
  return id;
}

/** Folders of an earlier sandbox of that task, whose container is gone; gives where they are now. */
async function clearTheWay(
  place: SandboxPlace,
  target: string,
  operation: Operation,
  reporter: Reporter,
): Promise<string | undefined> {
  if (!(await exists(target))) return undefined;
  const aside = await asidePath(place, target);
  await operation.note({ aside: { folder: aside } });
  if (!(await moveFolder(target, aside))) return undefined;
  reporter.onNotice(`Files of an earlier sandbox of this task were moved to ${aside}.`);
  return aside;
}

/** A path that a folder of ours can be moved to. */
export async function asidePath(place: SandboxPlace, folder: string): Promise<string> {
  await ensurePrivateFolder(asideFolder(place));
  return join(asideFolder(place), asideName(basename(folder), Date.now()));
}

/** Takes copies out of the way and removes them; what cannot be removed waits aside for gc. */
export async function discardFolder(place: SandboxPlace, folder: string): Promise<void> {
  const aside = await asidePath(place, folder);
  if (await moveFolder(folder, aside)) await removeFolder(aside).catch(() => undefined);
}

/** The spec as settings make it, only begun from another image: that is no drift, and the label says where it is from. */
function seededSpec(spec: SandboxSpec, { origin, about }: Seed): SandboxSpec {
  const fields = { ...spec.fields, docker_image: about.docker_image };
  return {
    ...spec,
    name: uniqueName(spec.name),
    image: about.image,
    fields,
    fingerprint: fingerprintOf(fields),
    origin,
  };
}

function requireSamePlaces({ mounts }: SandboxSpec, { about }: Seed): void {
  const lost = about.folders.filter(
    ({ target }) => !mounts.some((mount) => mount.kind === "bind" && mount.ours && mount.target === target),
  );
  if (lost.length === 0) return;
  throw new AppError(
    "sandbox-refused",
    `There is no place for the files of ${lost.map(({ target }) => target).join(", ")}: the settings mount something else there.`,
    { hint: "Set terminal.container_persistent and terminal.docker_volumes as they were then." },
  );
}

function taken({ task }: SandboxSpec): AppError {
  return new AppError("sandbox-exists", `The task ${task} got a sandbox meanwhile.`);
}
