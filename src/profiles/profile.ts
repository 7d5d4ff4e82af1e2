import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AppError, errnoOf } from "../lib/errors.ts";
import { readTextFile } from "../lib/files.ts";
import { DEFAULT_PROFILE, parseProfileName } from "./profile-name.ts";

/** One identity: a home folder with its own settings, secrets, sessions and logs. A value, handed down to every part. */
export interface Profile {
  readonly name: string;
  /** The folder shared by all profiles: the default profile's home, with the board and the list of profiles. */
  readonly root: string;
  readonly home: string;
  readonly configPath: string;
  readonly envPath: string;
  readonly logsFolder: string;
  /** The database of its sessions. */
  readonly sessionsPath: string;
}

/** What decides which profile a command runs as. */
export interface ProfileChoice {
  /** `-p NAME`. */
  readonly flag: string | undefined;
  /** HERMES_HOME: a root home, or the home of one profile (`…/profiles/NAME`). */
  readonly hermesHome: string | undefined;
  readonly userHome: string;
}

/** Root home, and the profile that HERMES_HOME itself names, if it does. */
export function rootOf({ hermesHome, userHome }: ProfileChoice): { root: string; named: string | undefined } {
  if (hermesHome === undefined || hermesHome === "")
    return { root: join(userHome, ".hermes"), named: undefined };
  const home = resolve(hermesHome.replace(/^~(?=$|\/)/, userHome));
  if (basename(dirname(home)) !== "profiles") return { root: home, named: undefined };
  return { root: dirname(dirname(home)), named: basename(home) };
}

/** The profile a command runs as: `-p`, then a profile named by HERMES_HOME, then `profile use`, then default. */
export async function resolveProfile(choice: ProfileChoice): Promise<Profile> {
  const { root, named } = rootOf(choice);
  await requireOwnFolder(root);
  if (choice.flag !== undefined) return requireProfile(root, choice.flag);
  if (named !== undefined) return requireProfile(root, named);
  const active = await findActiveName(root);
  if (active === undefined) return profileAt(root, DEFAULT_PROFILE);
  return requireProfile(root, active, "Choose another with `hermes profile use NAME`.");
}

/** The profile of that name; throws when it does not exist. */
export async function requireProfile(root: string, text: string, hint?: string): Promise<Profile> {
  const profile = profileAt(root, parseProfileName(text));
  if (profile.name !== DEFAULT_PROFILE && !(await isFolder(profile.home))) {
    throw new AppError("profile-not-found", `There is no profile ${profile.name}.`, {
      hint:
        hint ?? `Create it with \`hermes profile create ${profile.name}\`, or see \`hermes profile list\`.`,
    });
  }
  await requireOwnFolder(profile.home);
  return profile;
}

/** The profile value for a name, whether it exists or not. */
export function profileAt(root: string, name: string): Profile {
  const home = name === DEFAULT_PROFILE ? root : join(root, "profiles", name);
  return {
    name,
    root,
    home,
    configPath: join(home, "config.yaml"),
    envPath: join(home, ".env"),
    logsFolder: join(home, "logs"),
    sessionsPath: join(home, "sessions.sqlite"),
  };
}

/** The file that `profile use` writes. */
export function activeFile(root: string): string {
  return join(root, "active_profile");
}

/** The name that `profile use` left behind, if any. */
export async function findActiveName(root: string): Promise<string | undefined> {
  const text = (await readTextFile(activeFile(root)))?.trim();
  return text === undefined || text === "" ? undefined : text;
}

export async function isFolder(path: string): Promise<boolean> {
  return (await statOrUndefined(path))?.isDirectory() ?? false;
}

/** A home that someone else owns could hold their commands in our settings, so it is not even read. */
async function requireOwnFolder(path: string): Promise<void> {
  const found = await statOrUndefined(path);
  if (found === undefined) return;
  if (!found.isDirectory()) throw new AppError("home-unusable", `The home ${path} is a file, not a folder.`);
  const uid = process.getuid?.();
  if (uid !== undefined && uid !== 0 && found.uid !== uid) {
    throw new AppError(
      "home-unusable",
      `The home ${path} belongs to user ${found.uid}, and you are user ${uid}.`,
      {
        hint: `Use your own with HERMES_HOME, or take it over with \`sudo chown -R ${uid} ${path}\`.`,
      },
    );
  }
}

async function statOrUndefined(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT") return undefined;
    if (code === "ENOTDIR")
      throw new AppError("home-unusable", `The home ${path} lies below a file.`, { cause: error });
    throw new AppError("home-unusable", `The home ${path} cannot be looked at: ${code}.`, { cause: error });
  }
}
