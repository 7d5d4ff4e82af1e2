/** The version of the SQLite that we really run on. */
export async function sqliteVersion(): Promise<string> {
  const { default: Connection } = await import("better-sqlite3");
  const connection = new Connection(":memory:");
  try {
    return String(connection.prepare("select sqlite_version()").pluck().get());
  } finally {
    connection.close();
  }
}
