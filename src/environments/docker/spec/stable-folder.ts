import { randomBytes } from "node:crypto";
import { readlink, realpath, rename, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ensurePrivateFolder } from "../../../lib/files/files.ts";
import { digestOf } from "./sandbox-names.ts";

/** A profile whose home folder has its name, or the default profile, whose home is the root home. */
interface NamedHome {
  readonly root: string;
  readonly home: string;
}

/**
 * Returns a path to the sandboxes folder that stays valid when the profile is renamed, because a container keeps the
 * mount paths that it was created with. The path goes through a link that is named after the profile id and points to
 * the current home.
 */
export async function ensureStableFolder(
  profile: NamedHome,
  profileId: string,
  sandboxesFolder: string,
): Promise<string> {
  if (profile.home === profile.root) return sandboxesFolder;
  const home = join(await realpath(dirname(profile.home)), basename(profile.home));
  // A folder outside of the home does not move with the profile.
  if (!sandboxesFolder.startsWith(`${home}/`)) return sandboxesFolder;
  const link = linkOf(home, profileId);
  await replaceLink(link, join("..", basename(home)));
  return join(link, sandboxesFolder.slice(home.length));
}

/** Points the link of a renamed profile to its new home; does nothing for a profile without a link. */
export async function updateStableLink(profile: NamedHome, profileId: string): Promise<void> {
  const home = join(await realpath(dirname(profile.home)), basename(profile.home));
  const link = linkOf(home, profileId);
  if ((await readTarget(link)) !== undefined) await replaceLink(link, join("..", basename(home)));
}

/** Removes the link of a profile that is being deleted. */
export async function removeStableLink(profile: NamedHome, profileId: string): Promise<void> {
  await rm(linkOf(profile.home, profileId), { force: true });
}

/** The name is a digest, because users can edit the profile id and it may not be a safe file name. */
function linkOf(home: string, profileId: string): string {
  return join(dirname(home), ".ids", digestOf(profileId).slice(0, 12));
}

/** Replaces the link atomically, because other processes may be using it. */
async function replaceLink(link: string, target: string): Promise<void> {
  if ((await readTarget(link)) === target) return;
  await ensurePrivateFolder(dirname(link));
  const fresh = `${link}.${randomBytes(4).toString("hex")}`;
  await symlink(target, fresh);
  await rename(fresh, link);
}

function readTarget(link: string): Promise<string | undefined> {
  return readlink(link).catch(() => undefined); // missing, or not a link, which is replaced
}
