import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { closest } from "../../../lib/did-you-mean.ts";
import { AppError } from "../../../lib/errors.ts";
import { readTextFile } from "../../../lib/files.ts";
import { namesIn } from "../names-in.ts";
import { parseJson } from "../parse-json.ts";
import { digestOf } from "../sandbox-names.ts";
import type { SandboxPlace } from "../sandbox-record.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;
const ID = /^\d{8}-\d{6}-[0-9a-f]{8}$/;
export const MANIFEST = "manifest.json";

const manifest = z.object({
  version: z.literal(1),
  id: z.string().regex(ID),
  /** Empty when nobody gave it one. */
  name: z.string(),
  profile_id: z.string(),
  task: z.string(),
  created_at: z.iso.datetime(),
  /** The committed image, by its tag. */
  image: z.string(),
  /** The image of the settings that the sandbox was once made from. */
  docker_image: z.string(),
  /** What the image takes beyond the one it is made from. */
  image_bytes: z.number(),
  files_bytes: z.number(),
  /** Copied folders by the path that they have in the sandbox. */
  folders: z.array(z.object({ target: z.string(), folder: z.string().regex(/^[a-z]+$/) })),
  /** Paths of the sandbox whose files are in the archive. */
  archived: z.array(z.string()),
  /** Paths of the sandbox that belong to somebody else, and are no part of the snapshot. */
  left_out: z.array(z.string()),
});
export type SnapshotManifest = z.infer<typeof manifest>;

/** Snapshots of one profile; a profile id is never trusted as the name of a folder. */
export function snapshotsFolder({ sandboxesFolder, profileId }: SandboxPlace): string {
  return join(sandboxesFolder, "snapshots", digestOf(profileId).slice(0, 12));
}

/** Where a whole snapshot lies. */
export function snapshotFolder(place: SandboxPlace, id: string): string {
  return join(snapshotsFolder(place), id);
}

/** Readable, in order of time, and good for a tag. */
export function createSnapshotId(now: number): string {
  const [day = "", time = ""] = new Date(now).toISOString().split("T");
  return `${day.replaceAll("-", "")}-${time.slice(0, 8).replaceAll(":", "")}-${randomBytes(4).toString("hex")}`;
}

export function requireSnapshotName(name: string): void {
  if (NAME.test(name) && !ID.test(name)) return;
  throw new AppError("usage-wrong", `A snapshot cannot be called ${JSON.stringify(name)}.`, {
    hint: "Use up to 63 letters, digits, `_`, `.` and `-`, beginning with a letter or digit.",
  });
}

/** The whole snapshots of the profile, oldest first. What has no manifest is none. */
export async function loadManifests(place: SandboxPlace): Promise<SnapshotManifest[]> {
  const found: SnapshotManifest[] = [];
  for (const id of (await namesIn(snapshotsFolder(place))).filter((name) => ID.test(name))) {
    const text = await readTextFile(join(snapshotFolder(place, id), MANIFEST));
    const { data } = manifest.safeParse(parseJson(text ?? ""));
    if (data?.id === id && data.profile_id === place.profileId) found.push(data);
  }
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** The snapshot of that id or name; throws with the nearest one when there is none. */
export async function requireSnapshot(place: SandboxPlace, word: string): Promise<SnapshotManifest> {
  const all = await loadManifests(place);
  const found = all.find(({ id, name }) => id === word || name === word);
  if (found !== undefined) return found;
  const near = closest(
    word,
    all.flatMap(({ id, name }) => (name === "" ? [id] : [name, id])),
  );
  throw new AppError("snapshot-not-found", `There is no snapshot ${word}.`, {
    ...(near === undefined ? {} : { hint: `Did you mean ${near}? See \`hermes sandbox snapshots\`.` }),
  });
}
