import type Sqlite from "better-sqlite3";

/**
 * The one place that chooses the native module: 13 crashes on a Node without version 10 of Node-API, and 12 aborts on
 * Node 24 (docs/decisions/0010-one-sqlite-per-node.md). Scripts ask for it as well, so nothing is loaded here.
 */
export const SQLITE_PACKAGE = Number(process.versions.napi) >= 10 ? "better-sqlite3-13" : "better-sqlite3-12";

/** What brings the native module for this Node. In a checkout `./hermes` does that by itself. 13 needs no script. */
export const REINSTALL = `npm install --global ${SQLITE_PACKAGE === "better-sqlite3-13" ? "--ignore-scripts " : ""}hermes-agent`;

export type SqliteConnection = Sqlite.Database;

/** The class of connections to SQLite, for this Node. It loads the native module with the first connection. */
export async function loadSqlite(): Promise<typeof Sqlite> {
  const { default: Connection } = (await import(SQLITE_PACKAGE)) as { default: typeof Sqlite };
  return Connection;
}

/** The version of the SQLite that we really run on. */
export async function sqliteVersion(): Promise<string> {
  const connection = new (await loadSqlite())(":memory:");
  try {
    return String(connection.prepare("select sqlite_version()").pluck().get());
  } finally {
    connection.close();
  }
}
