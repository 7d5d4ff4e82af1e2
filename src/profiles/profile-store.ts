import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../lib/errors.ts";
import { ensurePrivateFolder, writeFileAtomic } from "../lib/files/files.ts";
import { unlessMissing } from "../lib/files/unless-missing.ts";
import { type CloneOptions, fillFromProfile, fillNewProfile } from "./fill-profile.ts";
import {
  activeProfilePath,
  findActiveName,
  isFolder,
  type Profile,
  profileAt,
  requireProfile,
} from "./profile.ts";
import { ensureProfileId } from "./profile-id.ts";
import { DEFAULT_PROFILE, parseNewProfileName } from "./profile-name.ts";

const DELETED_FOLDER = ".deleted";
const KEEP_DELETED_MS = 30 * 24 * 60 * 60 * 1_000;

/** Lists every profile: default first, the others sorted by name. */
export async function listProfiles(root: string): Promise<Profile[]> {
  const names = (await listEntries(join(root, "profiles"))).filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith("."),
  );
  const others = names
    .map((entry) => profileAt(root, entry.name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return [profileAt(root, DEFAULT_PROFILE), ...others];
}

/** Creates a profile atomically: fills a hidden folder, then renames it. */
export async function createProfile(
  root: string,
  text: string,
  clone: CloneOptions | undefined,
): Promise<Profile> {
  const profile = profileAt(root, parseNewProfileName(text));
  if (await isFolder(profile.home)) throw profileExistsError(profile.name);
  await ensurePrivateFolder(root);
  await ensurePrivateFolder(join(root, "profiles"));
  const staging = profileAt(root, `.${profile.name}.staging-${process.pid}-${Date.now()}`);
  try {
    await mkdir(staging.home, { mode: 0o700 });
    if (clone) await fillFromProfile(staging, clone);
    else await fillNewProfile(staging, profileAt(root, DEFAULT_PROFILE));
    await ensureProfileId(staging);
    await rename(staging.home, profile.home);
  } catch (error) {
    await rm(staging.home, { recursive: true, force: true });
    if (isTaken(error)) throw profileExistsError(profile.name);
    throw error;
  }
  return profile;
}

/** Makes a profile the active one for later commands. */
export async function activateProfile(root: string, text: string): Promise<Profile> {
  const profile = await requireProfile(root, text);
  if (profile.name === DEFAULT_PROFILE) {
    await rm(activeProfilePath(root), { force: true });
  } else {
    await writeFileAtomic(activeProfilePath(root), `${profile.name}\n`, { mode: 0o600 });
  }
  return profile;
}

/** Renames a profile. It keeps its id and therefore its sandboxes. */
export async function renameProfile(root: string, from: string, to: string): Promise<Profile> {
  const profile = await requireProfile(root, from);
  if (profile.name === DEFAULT_PROFILE)
    throw new AppError("profile-protected", "The profile default cannot be renamed.");
  const renamed = profileAt(root, parseNewProfileName(to));
  if (await isFolder(renamed.home)) throw profileExistsError(renamed.name);
  try {
    await rename(profile.home, renamed.home);
  } catch (error) {
    throw isTaken(error) ? profileExistsError(renamed.name) : error;
  }
  if ((await findActiveName(root)) === profile.name) await activateProfile(root, renamed.name);
  return renamed;
}

/** Moves a profile to the deleted profiles, where it stays for 30 days, and returns its new folder. */
export async function deleteProfile(root: string, text: string, now: Date): Promise<string> {
  const profile = await requireProfile(root, text);
  if (profile.name === DEFAULT_PROFILE)
    throw new AppError("profile-protected", "The profile default cannot be deleted.");
  const deletedFolder = join(root, "profiles", DELETED_FOLDER);
  await ensurePrivateFolder(deletedFolder);
  await removeExpired(deletedFolder, now);
  const deletedHome = join(deletedFolder, `${profile.name}-${now.toISOString().replace(/[:.]/g, "-")}`);
  await rename(profile.home, deletedHome);
  if ((await findActiveName(root)) === profile.name) await activateProfile(root, DEFAULT_PROFILE);
  return deletedHome;
}

async function removeExpired(deletedFolder: string, now: Date): Promise<void> {
  for (const entry of await listEntries(deletedFolder)) {
    const path = join(deletedFolder, entry.name);
    const { ctimeMs } = await stat(path);
    if (now.getTime() - ctimeMs > KEEP_DELETED_MS) await rm(path, { recursive: true, force: true });
  }
}

async function listEntries(folder: string) {
  return (await unlessMissing(readdir(folder, { withFileTypes: true }))) ?? [];
}

function isTaken(error: unknown): boolean {
  return ["EEXIST", "ENOTEMPTY", "ENOTDIR"].includes(errnoOf(error) ?? "");
}

function profileExistsError(name: string): AppError {
  return new AppError("profile-exists", `There is already a profile ${name}.`);
}
