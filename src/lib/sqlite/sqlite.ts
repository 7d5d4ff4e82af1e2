import type Sqlite from "better-sqlite3";

/**
 * The only code that chooses the native module: 13 crashes on a Node without version 10 of Node-API, and 12 aborts on
 * Node 24 (docs/decisions/0010-one-sqlite-per-node.md). Scripts import this file too, so it loads nothing.
 */
export const SQLITE_PACKAGE = Number(process.versions.napi) >= 10 ? "better-sqlite3-13" : "better-sqlite3-12";

/** The command that installs the native module for this Node. In a checkout `./hermes` installs it. 13 needs no install script. */
export const REINSTALL = `npm install --global ${SQLITE_PACKAGE === "better-sqlite3-13" ? "--ignore-scripts " : ""}hermes-agent`;

/** The other reason for a missing native module, where it has to be compiled: npm omits an optional package that fails. */
export const COMPILED =
  SQLITE_PACKAGE === "better-sqlite3-13"
    ? ""
    : ", or SQLite could not be compiled, which needs g++, make and python3 here and nothing with Node 22.14 or newer";

export type SqliteConnection = Sqlite.Database;

/** Loads the connection class for this Node. The first connection loads the native module. */
export async function loadSqlite(): Promise<typeof Sqlite> {
  // A literal name, so that the build bundles its JavaScript. 13 is not installed on every Node that builds.
  const { default: Connection } =
    SQLITE_PACKAGE === "better-sqlite3-12"
      ? await import("better-sqlite3-12")
      : ((await import(SQLITE_PACKAGE)) as { default: typeof Sqlite });
  return Connection;
}

export async function sqliteVersion(): Promise<string> {
  const connection = new (await loadSqlite())(":memory:");
  try {
    return String(connection.prepare("select sqlite_version()").pluck().get());
  } finally {
    connection.close();
  }
}
