import { access, chmod, constants, mkdtemp, rmdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { problemLine } from "../../config/problem.ts";
import { errnoOf } from "../../lib/errors.ts";
import type { CheckInput, Finding } from "./check.ts";

const GIB = 1024 ** 3;
const WARN_BELOW = 2 * GIB;
const FAIL_BELOW = 0.1 * GIB;

export async function checkHome({ app: { profile } }: CheckInput): Promise<Finding[]> {
  const { home, envPath } = profile;
  const mode = await modeOf(home);
  if (mode === undefined) {
    const problem = await whyNotMade(home);
    if (problem === undefined)
      return [{ name: "home", status: "ok", detail: `${home} (made on first use)`, fix: "" }];
    return [
      {
        name: "home",
        status: "fail",
        detail: `${home} cannot be made: ${problem}`,
        fix: "set HERMES_HOME to a folder below one that you can write to",
      },
    ];
  }
  if (!(await isWritable(home))) {
    return [
      {
        name: "home",
        status: "fail",
        detail: `${home} cannot be written`,
        fix: `chmod u+rwx ${home}, or set HERMES_HOME to another folder`,
      },
    ];
  }
  const open = (mode & 0o077) !== 0;
  const homeFinding: Finding = open
    ? {
        name: "home",
        status: "warn",
        detail: `${home} can be read by others (mode ${octal(mode)})`,
        fix: `chmod 700 ${home}`,
        repair: () => chmod(home, 0o700),
      }
    : { name: "home", status: "ok", detail: home, fix: "" };
  const envMode = await modeOf(envPath);
  if (envMode === undefined || (envMode & 0o077) === 0) return [homeFinding];
  const detail = `${envPath} can be read by others (mode ${octal(envMode)})`;
  const repair = () => chmod(envPath, 0o600);
  return [homeFinding, { name: "secrets", status: "fail", detail, fix: `chmod 600 ${envPath}`, repair }];
}

export async function checkConfig({ app: { resolved, profile } }: CheckInput): Promise<Finding[]> {
  if (resolved.problems.length === 0)
    return [{ name: "config", status: "ok", detail: profile.configPath, fix: "" }];
  return resolved.problems.map((problem) => ({
    name: "config",
    status: problem.used ? "fail" : "warn",
    detail: problemLine(problem),
    fix: problem.hint,
  }));
}

export async function checkDisk({ app: { profile } }: CheckInput): Promise<Finding[]> {
  const { bavail, bsize } = await statfs(await nearestFolder(profile.home));
  const free = bavail * bsize;
  const detail = `${(free / GIB).toFixed(1)} GB free`;
  const fix = `Free some space on the disk of ${profile.home}.`;
  if (free < FAIL_BELOW) return [{ name: "disk", status: "fail", detail, fix }];
  if (free < WARN_BELOW) return [{ name: "disk", status: "warn", detail, fix }];
  return [{ name: "disk", status: "ok", detail, fix: "" }];
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}

/** Tried, because rights alone do not tell: nobody, root included, makes a folder in /sys. */
async function whyNotMade(home: string): Promise<string | undefined> {
  const folder = await nearestFolder(dirname(home));
  try {
    await rmdir(await mkdtemp(join(folder, ".hermes-")));
    return undefined;
  } catch (error) {
    return `no folder can be made in ${folder} (${errnoOf(error)})`;
  }
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch (error) {
    if (["EACCES", "EPERM", "EROFS"].includes(errnoOf(error) ?? "")) return false;
    throw error;
  }
}

async function nearestFolder(path: string): Promise<string> {
  return (await modeOf(path)) === undefined ? nearestFolder(dirname(path)) : path;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, "0");
}
