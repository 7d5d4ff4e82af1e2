import { createRunGroup, removeGroup } from "../board/supervisor/run-cgroup.ts";
import { messageOf } from "../lib/errors.ts";
import { REINSTALL, sqliteVersion } from "../lib/sqlite/sqlite.ts";
import { type Finding, finding } from "./check.ts";

/** The same versions as `engines` in package.json: 22.14 and newer, or 20.19 and newer of version 20. */
const NODE_FLOOR = "22.14.0";
const NODE_20_FLOOR = "20.19.0";
/** Older versions can corrupt a WAL database that several processes write to. */
const SQLITE_FLOOR = "3.51.3";

export async function checkNode(): Promise<Finding[]> {
  const { node } = process.versions;
  if (isAtLeast(node, node.startsWith("20.") ? NODE_20_FLOOR : NODE_FLOOR))
    return [finding("node", "ok", node)];
  return [finding("node", "fail", `${node} is too old`, "Install Node.js 22.14 or newer (or 20.19).")];
}

export async function checkSqlite(): Promise<Finding[]> {
  try {
    const version = await sqliteVersion();
    if (isAtLeast(version, SQLITE_FLOOR)) return [finding("sqlite", "ok", version)];
    const fix = "Reinstall Hermes so that it uses its bundled SQLite.";
    return [finding("sqlite", "fail", `${version} is older than ${SQLITE_FLOOR}`, fix)];
  } catch (error) {
    const detail = `cannot be loaded: ${messageOf(error).split("\n")[0]}`;
    const fix = `Reinstall Hermes with this version of Node.js: ${REINSTALL}. On Node.js 20 that needs g++, make and python3.`;
    return [finding("sqlite", "fail", detail, fix)];
  }
}

function isAtLeast(version: string, floor: string): boolean {
  return version.localeCompare(floor, "en", { numeric: true }) >= 0;
}

/** Checks whether each run of a task gets its own cgroup, which ensures that no process outlives its run. */
export async function checkRuns(): Promise<Finding[]> {
  const group = await createRunGroup(`check-${process.pid}`);
  if (group !== undefined) {
    await removeGroup(group);
    return [finding("workers", "ok", "one cgroup per run; no process outlives its run")];
  }
  const detail =
    "processes are found by environment marker and parent; one that daemonises with an empty environment can outlive its run (no usable cgroup2)";
  const fix =
    "Start the daemon in a delegated cgroup, for example with `systemd-run --user --scope -p Delegate=yes hermes kanban daemon`.";
  return [finding("workers", "note", detail, fix)];
}
