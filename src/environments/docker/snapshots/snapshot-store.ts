import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../../lib/errors.ts";
import { readTextFile } from "../../../lib/files/files.ts";
import { listNames } from "../../../lib/files/unless-missing.ts";
import { findClosest } from "../../../lib/text/did-you-mean.ts";
import { parseJson } from "../engine/parse-json.ts";
import type { SandboxStore } from "../lifecycle/sandbox-record.ts";
import { digestOf } from "../spec/sandbox-names.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;
const ID = /^\d{8}-\d{6}-[0-9a-f]{8}$/;
export const MANIFEST_FILE = "manifest.json";

const manifest = z.object({
  version: z.literal(1),
  id: z.string().regex(ID),
  /** Empty for a snapshot without a name. */
  name: z.string(),
  profile_id: z.string(),
  task: z.string(),
  created_at: z.iso.datetime(),
  /** Tag of the committed image. */
  image: z.string(),
  /** The image from the settings that the sandbox was created from. */
  docker_image: z.string(),
  /** Size of the image without its base image. */
  image_bytes: z.number(),
  files_bytes: z.number(),
  /** Copied folders, with their path in the sandbox. */
  folders: z.array(z.object({ target: z.string(), folder: z.string().regex(/^[a-z]+$/) })),
  /** Paths of the sandbox whose files are in the archive. */
  archived: z.array(z.string()),
  /** Mount points in the sandbox that are not part of the snapshot. */
  left_out: z.array(z.string()),
});
export type SnapshotManifest = z.infer<typeof manifest>;

/** The folder for the snapshots of one profile. Its name is a digest, because a profile id may not be a safe name. */
export function snapshotsFolder({ sandboxesFolder, profileId }: SandboxStore): string {
  return join(sandboxesFolder, "snapshots", digestOf(profileId).slice(0, 12));
}

/** The folder of one complete snapshot. */
export function snapshotFolder(store: SandboxStore, id: string): string {
  return join(snapshotsFolder(store), id);
}

/** Creates an id that is readable, sorts by time, and is valid in an image tag. */
export function createSnapshotId(now: number): string {
  const [day = "", time = ""] = new Date(now).toISOString().split("T");
  return `${day.replaceAll("-", "")}-${time.slice(0, 8).replaceAll(":", "")}-${randomBytes(4).toString("hex")}`;
}

export function requireSnapshotName(name: string): void {
  if (NAME.test(name) && !ID.test(name)) return;
  const hint = "Use up to 63 letters, digits, `_`, `.` and `-`, starting with a letter or digit.";
  throw new AppError("usage-wrong", `Invalid snapshot name ${JSON.stringify(name)}.`, { hint });
}

/** Loads the complete snapshots of the profile, oldest first. A folder without a manifest is not a snapshot. */
export async function loadManifests(store: SandboxStore): Promise<SnapshotManifest[]> {
  const found: SnapshotManifest[] = [];
  for (const id of (await listNames(snapshotsFolder(store))).filter((name) => ID.test(name))) {
    const text = await readTextFile(join(snapshotFolder(store, id), MANIFEST_FILE));
    const { data } = manifest.safeParse(parseJson(text ?? ""));
    if (data?.id === id && data.profile_id === store.profileId) found.push(data);
  }
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Returns the snapshot with that id or name; the error suggests the most similar one. */
export async function requireSnapshot(store: SandboxStore, word: string): Promise<SnapshotManifest> {
  const all = await loadManifests(store);
  // Snapshots without a name have an empty one.
  const found = all.find(({ id, name }) => id === word || (name !== "" && name === word));
  if (found !== undefined) return found;
  const near = findClosest(
    word,
    all.flatMap(({ id, name }) => (name === "" ? [id] : [name, id])),
  );
  throw new AppError("snapshot-not-found", `No snapshot ${word} exists.`, {
    ...(near === undefined ? {} : { hint: `Did you mean ${near}? See \`hermes sandbox snapshots\`.` }),
  });
}
