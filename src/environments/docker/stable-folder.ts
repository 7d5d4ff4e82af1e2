import { randomBytes } from "node:crypto";
import { readlink, realpath, rename, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ensurePrivateFolder } from "../../lib/files.ts";
import { digestOf } from "./sandbox-names.ts";

/** A profile whose home has its name, or the default one, whose home is the root. */
interface NamedHome {
  readonly root: string;
  readonly home: string;
}

/**
 * The same folder by a path that does not change when the profile is renamed: mounts keep the path that they were made
 * with. A link beside the profiles has the profile's id for a name, and leads to wherever its home is now.
 */
export async function stableFolder(
  profile: NamedHome,
  profileId: string,
  sandboxesFolder: string,
): Promise<string> {
  if (profile.home === profile.root) return sandboxesFolder;
  const home = join(await realpath(dirname(profile.home)), basename(profile.home));
  // Elsewhere its path has nothing to do with the name.
  if (!sandboxesFolder.startsWith(`${home}/`)) return sandboxesFolder;
  const link = linkOf(home, profileId);
  await pointTo(link, join("..", basename(home)));
  return join(link, sandboxesFolder.slice(home.length));
}

/** Lets mounts of a profile that was renamed lead to its new home; one that never had any stays without. */
export async function followRename(profile: NamedHome, profileId: string): Promise<void> {
  const home = join(await realpath(dirname(profile.home)), basename(profile.home));
  const link = linkOf(home, profileId);
  if ((await targetOf(link)) !== undefined) await pointTo(link, join("..", basename(home)));
}

/** Forgets the link of a profile that is going. */
export async function dropStableFolder(profile: NamedHome, profileId: string): Promise<void> {
  await rm(linkOf(profile.home, profileId), { force: true });
}

/** An id comes from a file that anybody can edit, so it is never itself the name of a file. */
function linkOf(home: string, profileId: string): string {
  return join(dirname(home), ".ids", digestOf(profileId).slice(0, 12));
}

/** In one step: others may be going through it at this moment. */
async function pointTo(link: string, target: string): Promise<void> {
  if ((await targetOf(link)) === target) return;
  await ensurePrivateFolder(dirname(link));
  const fresh = `${link}.${randomBytes(4).toString("hex")}`;
  await symlink(target, fresh);
  await rename(fresh, link);
}

function targetOf(link: string): Promise<string | undefined> {
  return readlink(link).catch(() => undefined); // none there, or something else, which is replaced
}
