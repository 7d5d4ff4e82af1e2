import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AppError, errnoOf } from "../lib/errors.ts";
import { readTextFile } from "../lib/files/files.ts";
import { DEFAULT_PROFILE, parseProfileName } from "./profile-name.ts";

/** One identity: a home with its own settings, secrets, sessions and logs. A plain value that is passed down. */
export interface Profile {
  readonly name: string;
  /** The root home: the home of the default profile, with the boards and the folder of the other profiles. */
  readonly root: string;
  readonly home: string;
  readonly configPath: string;
  readonly envPath: string;
  readonly logsFolder: string;
  /** The database of the profile's sessions. */
  readonly sessionsPath: string;
  /** The database with the states of the profile's keys. */
  readonly keysPath: string;
  /** The database of the profile's gateway. */
  readonly gatewayPath: string;
}

/** The inputs that select the profile of a command. */
export interface ProfileChoice {
  /** `-p NAME`. */
  readonly profile?: string | undefined;
  /** HERMES_HOME is a root home, or the home of one profile (`…/profiles/NAME`). */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
}

/** The root home, and the profile that HERMES_HOME names, if any. */
export function resolveRoot({ variables, userHome }: ProfileChoice): {
  root: string;
  named: string | undefined;
} {
  const hermesHome = variables["HERMES_HOME"];
  if (hermesHome === undefined || hermesHome === "")
    return { root: join(userHome, ".hermes"), named: undefined };
  const home = resolve(hermesHome.replace(/^~(?=$|\/)/, userHome));
  if (basename(dirname(home)) !== "profiles") return { root: home, named: undefined };
  return { root: dirname(dirname(home)), named: basename(home) };
}

/** Selects the profile of a command: `-p`, then a profile named by HERMES_HOME, then `profile use`, then default. */
export async function resolveProfile(choice: ProfileChoice): Promise<Profile> {
  const { root, named } = resolveRoot(choice);
  await requireOwnFolder(root);
  if (choice.profile !== undefined) return requireProfile(root, choice.profile);
  if (named !== undefined) return requireProfile(root, named);
  const active = await findActiveName(root);
  if (active === undefined) return profileAt(root, DEFAULT_PROFILE);
  return requireProfile(root, active, "Choose another with `hermes profile use NAME`.");
}

/** The profile of that name. Throws if it does not exist. */
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

/** Creates the profile value for a name; the profile need not exist. */
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
    keysPath: join(home, "keys.sqlite"),
    gatewayPath: join(home, "gateway.sqlite"),
  };
}

/** The file that `profile use` writes. */
export function activeProfilePath(root: string): string {
  return join(root, "active_profile");
}

/** The name that `profile use` stored, if any. */
export async function findActiveName(root: string): Promise<string | undefined> {
  const text = (await readTextFile(activeProfilePath(root)))?.trim();
  return text === undefined || text === "" ? undefined : text;
}

export async function isFolder(path: string): Promise<boolean> {
  return (await statOrUndefined(path))?.isDirectory() ?? false;
}

/** Throws if another user owns the home, because its settings could make us run that user's commands. */
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
        hint: `Choose your own home with HERMES_HOME, or take over this one with \`sudo chown -R ${uid} ${path}\`.`,
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
      throw new AppError("home-unusable", `The home ${path} cannot exist: one of its parents is a file.`, {
        cause: error,
      });
    throw new AppError("home-unusable", `The home ${path} cannot be accessed: ${code}.`, { cause: error });
  }
}
