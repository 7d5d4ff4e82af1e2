import { messageOf } from "../../lib/errors.ts";
import { REINSTALL, sqliteVersion } from "../../lib/sqlite.ts";
import type { Finding } from "./check.ts";

/** What `engines` in package.json says: this one and newer ones, and of version 20 the latest. */
const NODE_FLOOR = [22, 14, 0] as const;
const NODE_20_FLOOR = [20, 19, 0] as const;
/** Older ones can damage a database in WAL mode that several processes write. */
const SQLITE_FLOOR = [3, 51, 3] as const;

export async function checkNode(): Promise<Finding[]> {
  const { node } = process.versions;
  if (atLeast(node, node.startsWith("20.") ? NODE_20_FLOOR : NODE_FLOOR))
    return [{ name: "node", status: "ok", detail: node, fix: "" }];
  return [
    {
      name: "node",
      status: "fail",
      detail: `${node} is too old`,
      fix: "Install Node.js 22.14 or newer (or 20.19).",
    },
  ];
}

export async function checkSqlite(): Promise<Finding[]> {
  try {
    const version = await sqliteVersion();
    if (atLeast(version, SQLITE_FLOOR)) return [{ name: "sqlite", status: "ok", detail: version, fix: "" }];
    return [
      {
        name: "sqlite",
        status: "fail",
        detail: `${version} is older than 3.51.3`,
        fix: "Reinstall Hermes so that its own SQLite is used.",
      },
    ];
  } catch (error) {
    const fix = `Install Hermes again with this Node: ${REINSTALL}. On Node.js 20 that needs g++, make and python3.`;
    return [
      { name: "sqlite", status: "fail", detail: `cannot be loaded: ${messageOf(error).split("\n")[0]}`, fix },
    ];
  }
}

function atLeast(version: string, floor: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, wanted] of floor.entries()) {
    const found = parts[index] ?? 0;
    if (found !== wanted) return found > wanted;
  }
  return true;
}
