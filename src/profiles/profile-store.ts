import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../lib/errors.ts";
import { ensurePrivateFolder, writeFileAtomic } from "../lib/files.ts";
import { type CloneOptions, fillFromClone, fillNew } from "./fill-profile.ts";
import { activeFile, findActiveName, isFolder, type Profile, profileAt, requireProfile } from "./profile.ts";
import { ensureProfileId } from "./profile-id.ts";
import { DEFAULT_PROFILE, parseNewProfileName } from "./profile-name.ts";

const DELETED = ".deleted";
const KEEP_DELETED_MS = 30 * 24 * 60 * 60 * 1_000;

/** Every profile, default first, the others by name. */
export async function listProfiles(root: string): Promise<Profile[]> {
  const names = (await entries(join(root, "profiles"))).filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith("."),
  );
  const others = names
    .map((entry) => profileAt(root, entry.name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return [profileAt(root, DEFAULT_PROFILE), ...others];
}

/** Builds the profile in a hidden folder and publishes it by one rename: it exists whole or not at all. */
export async function createProfile(
  root: string,
  text: string,
  clone: CloneOptions | undefined,
): Promise<Profile> {
  const profile = profileAt(root, parseNewProfileName(text));
  if (await isFolder(profile.home)) throw existing(profile.name);
  await ensurePrivateFolder(root);
  await ensurePrivateFolder(join(root, "profiles"));
  const staging = profileAt(root, `.${profile.name}.staging-${process.pid}-${Date.now()}`);
  try {
    await mkdir(staging.home, { mode: 0o700 });
    if (clone) await fillFromClone(staging, clone);
    else await fillNew(staging, profileAt(root, DEFAULT_PROFILE));
    await ensureProfileId(staging);
    await rename(staging.home, profile.home);
  } catch (error) {
    await rm(staging.home, { recursive: true, force: true });
    if (isTaken(error)) throw existing(profile.name);
    throw error;
  }
  return profile;
}

/** Makes a profile the one that later commands run as. */
export async function activateProfile(root: string, text: string): Promise<Profile> {
  const profile = await requireProfile(root, text);
  if (profile.name === DEFAULT_PROFILE) {
    await rm(activeFile(root), { force: true });
  } else {
    await writeFileAtomic(activeFile(root), `${profile.name}\n`, { mode: 0o600 });
  }
  return profile;
}

/** Moves a profile to another name; its id, and so its sandboxes, stay with it. */
export async function renameProfile(root: string, from: string, to: string): Promise<Profile> {
  const profile = await requireProfile(root, from);
  if (profile.name === DEFAULT_PROFILE)
    throw new AppError("profile-protected", "The profile default cannot be renamed.");
  const renamed = profileAt(root, parseNewProfileName(to));
  if (await isFolder(renamed.home)) throw existing(renamed.name);
  try {
    await rename(profile.home, renamed.home);
  } catch (error) {
    throw isTaken(error) ? existing(renamed.name) : error;
  }
  if ((await findActiveName(root)) === profile.name) await activateProfile(root, renamed.name);
  return renamed;
}

/** Moves a profile aside, where it stays for thirty days; returns the folder it is in now. */
export async function deleteProfile(root: string, text: string, now: Date): Promise<string> {
  const profile = await requireProfile(root, text);
  if (profile.name === DEFAULT_PROFILE)
    throw new AppError("profile-protected", "The profile default cannot be deleted.");
  const bin = join(root, "profiles", DELETED);
  await ensurePrivateFolder(bin);
  await removeExpired(bin, now);
  const aside = join(bin, `${profile.name}-${now.toISOString().replace(/[:.]/g, "-")}`);
  await rename(profile.home, aside);
  if ((await findActiveName(root)) === profile.name) await activateProfile(root, DEFAULT_PROFILE);
  return aside;
}

async function removeExpired(bin: string, now: Date): Promise<void> {
  for (const entry of await entries(bin)) {
    const path = join(bin, entry.name);
    const { ctimeMs } = await stat(path);
    if (now.getTime() - ctimeMs > KEEP_DELETED_MS) await rm(path, { recursive: true, force: true });
  }
}

async function entries(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

function isTaken(error: unknown): boolean {
  return ["EEXIST", "ENOTEMPTY", "ENOTDIR"].includes(errnoOf(error) ?? "");
}

function existing(name: string): AppError {
  return new AppError("profile-exists", `There is already a profile ${name}.`);
}
