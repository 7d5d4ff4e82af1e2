import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect } from "vitest";
import type { SandboxHome } from "./sandbox-home.ts";

/** A client of the engine that kills who called it, before or after the first call that a shell pattern matches. */
export async function writeDeadlyClient(
  home: Pick<SandboxHome, "folder">,
  client: string,
  { at, when }: { readonly at: string; readonly when: "before" | "after" },
): Promise<string> {
  const folder = join(home.folder, `deadly-${when}-${at.replace(/\W/g, "")}`);
  await mkdir(folder);
  const path = join(folder, "docker"); // the same name, because records know the engine by it
  const kill = `kill -9 $PPID; exit 1`;
  const act = when === "before" ? kill : `${client} "$@"; ${kill}`;
  await writeFile(path, `#!/bin/sh\ncase "$*" in ${at}) ${act};; esac\nexec ${client} "$@"\n`);
  await chmod(path, 0o755);
  return path;
}

export interface Left {
  /** The names of the profile's containers. */
  readonly containers: readonly string[];
  /** Records without their container, and containers without their record. */
  readonly unmatched: readonly string[];
  /** Operations that nobody has finished or taken back. */
  readonly operations: readonly string[];
  readonly images: readonly string[];
  readonly snapshots: readonly string[];
  /** Names of folders of tasks. */
  readonly folders: readonly string[];
}

/** What there is of a profile, at the engine and below its folder. */
export async function look(
  home: Pick<SandboxHome, "docker">,
  { sandboxes, profileId }: { readonly sandboxes: string; readonly profileId: string },
): Promise<Left> {
  const label = `label=hermes-profile-id=${profileId}`;
  const listed = lines(
    await home.docker("ps", "-a", "--no-trunc", "--filter", label, "--format", "{{.ID}} {{.Names}}"),
  ).map((line) => line.split(" "));
  const ids = listed.map(([id = ""]) => id);
  const records = (await names(join(sandboxes, "records"))).map((name) => basename(name, ".json"));
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

/** Nothing is half done: each task has one container under its own name, each container its record, each image its owner. */
export function expectOrder(left: Left): void {
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
