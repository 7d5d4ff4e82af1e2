import { access, chmod, constants, mkdtemp, rmdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { formatProblem } from "../config/setting-problem.ts";
import { errnoOf } from "../lib/errors.ts";
import { type CheckInput, type Finding, finding } from "./check.ts";

const GIB = 1024 ** 3;
const WARN_BELOW = 2 * GIB;
const FAIL_BELOW = 0.1 * GIB;

export async function checkHome({ app: { profile } }: CheckInput): Promise<Finding[]> {
  const { home, envPath } = profile;
  const mode = await modeOf(home);
  if (mode === undefined) {
    const problem = await findCreationProblem(home);
    if (problem === undefined) return [finding("home", "ok", `${home} (created on first use)`)];
    const fix = "set HERMES_HOME to a path in a folder that you can write to";
    return [finding("home", "fail", `${home} cannot be created: ${problem}`, fix)];
  }
  if (!(await isWritable(home))) {
    const fix = `chmod u+rwx ${home}, or set HERMES_HOME to another folder`;
    return [finding("home", "fail", `${home} cannot be written`, fix)];
  }
  return [
    findOpenMode(home, mode, 0o700, "home", "warn") ?? finding("home", "ok", home),
    ...[findOpenMode(envPath, (await modeOf(envPath)) ?? 0, 0o600, "secrets", "fail") ?? []].flat(),
  ];
}

/** The finding for a file or folder that other users may read. */
function findOpenMode(
  path: string,
  mode: number,
  wanted: number,
  name: string,
  status: "warn" | "fail",
): Finding | undefined {
  if ((mode & 0o077) === 0) return undefined;
  const detail = `${path} can be read by others (mode ${octal(mode)})`;
  const fix = `chmod ${octal(wanted)} ${path}`;
  return { ...finding(name, status, detail, fix), repair: () => chmod(path, wanted) };
}

export async function checkConfig({ app: { resolved, profile } }: CheckInput): Promise<Finding[]> {
  if (resolved.problems.length === 0) return [finding("config", "ok", profile.configPath)];
  return resolved.problems.map((problem) =>
    finding("config", problem.used ? "fail" : "warn", formatProblem(problem), problem.hint),
  );
}

export async function checkDisk({ app: { profile } }: CheckInput): Promise<Finding[]> {
  const { bavail, bsize } = await statfs(await nearestFolder(profile.home));
  const free = bavail * bsize;
  const detail = `${(free / GIB).toFixed(1)} GB free`;
  if (free >= WARN_BELOW) return [finding("disk", "ok", detail)];
  const fix = `Free some space on the disk of ${profile.home}.`;
  return [finding("disk", free < FAIL_BELOW ? "fail" : "warn", detail, fix)];
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}

/** Tries to create a folder, because permissions alone do not tell whether that is possible: even root cannot in /sys. */
async function findCreationProblem(home: string): Promise<string | undefined> {
  const folder = await nearestFolder(dirname(home));
  try {
    await rmdir(await mkdtemp(join(folder, ".hermes-")));
    return undefined;
  } catch (error) {
    return `no folder can be created in ${folder} (${errnoOf(error)})`;
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
