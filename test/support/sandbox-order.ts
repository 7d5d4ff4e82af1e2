import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect } from "vitest";
import type { SandboxHome } from "./sandbox-home.ts";

/** A client of the engine that kills its caller, before or after the first call that matches a shell pattern. */
export async function writeKillingClient(
  home: Pick<SandboxHome, "folder">,
  client: string,
  { at, when }: { readonly at: string; readonly when: "before" | "after" },
): Promise<string> {
  const folder = join(home.folder, `killing-${when}-${at.replace(/\W/g, "")}`);
  await mkdir(folder);
  const path = join(folder, "docker"); // the same name, because records identify the engine by it
  const kill = `kill -9 $PPID; exit 1`;
  const act = when === "before" ? kill : `${client} "$@"; ${kill}`;
  await writeFile(path, `#!/bin/sh\ncase "$*" in ${at}) ${act};; esac\nexec ${client} "$@"\n`);
  await chmod(path, 0o755);
  return path;
}

export interface ProfileState {
  /** The names of the profile's containers. */
  readonly containers: readonly string[];
  /** Records without their container, and containers without their record. */
  readonly unmatched: readonly string[];
  /** Operations that were neither finished nor rolled back. */
  readonly operations: readonly string[];
  readonly images: readonly string[];
  readonly snapshots: readonly string[];
  /** Names of the folders of tasks. */
  readonly folders: readonly string[];
}

/** Lists what a profile has in the engine and below its folder. */
export async function inspectProfile(
  home: Pick<SandboxHome, "docker">,
  { sandboxes, profileId }: { readonly sandboxes: string; readonly profileId: string },
): Promise<ProfileState> {
  const label = `label=hermes-profile-id=${profileId}`;
  const listed = lines(
    await home.docker("ps", "-a", "--no-trunc", "--filter", label, "--format", "{{.ID}} {{.Names}}"),
  ).map((line) => line.split(" "));
  const ids = listed.map(([id = ""]) => id);
  // A kill may leave a temporary file, which is not a record; the next write after a minute removes it.
  const records = (await names(join(sandboxes, "records")))
    .filter((name) => !/^\..*\.tmp$/.test(name))
    .map((name) => basename(name, ".json"));
  const [owner = ""] = await names(join(sandboxes, "snapshots"));
  const kept = join(sandboxes, "snapshots", owner);
  const images = await home.docker("images", "--filter", label, "--format", "{{.Repository}}:{{.Tag}}");
  return {
    containers: listed.map(([, name = ""]) => name),
    unmatched: [...ids, ...records].filter((id) => !ids.includes(id) || !records.includes(id)),
    operations: await names(join(kept, "work")),
    images: lines(images),
    snapshots: (await names(kept)).filter((name) => /^\d{8}-/.test(name)),
    folders: await names(join(sandboxes, "docker")),
  };
}

/** Expects no unfinished work: one container per task under its proper name, one record per container, and no unowned image. */
export function expectConsistent(left: ProfileState): void {
  expect(left.unmatched).toEqual([]);
  expect(left.operations).toEqual([]);
  for (const name of left.containers) expect(name).toMatch(/^hermes-[a-z]+-[0-9a-f]{12}$/);
  expect(new Set(left.containers).size).toBe(left.containers.length);
  const snapshotImages = left.images.filter((image) => image.startsWith("hermes-snapshot:"));
  expect(snapshotImages.toSorted()).toEqual(left.snapshots.map((id) => `hermes-snapshot:${id}`).toSorted());
}

async function names(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function lines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}
