import { randomBytes } from "node:crypto";
import pg from "pg";

export interface OwnDatabase extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  /** Connected to the server, not to this database. */
  readonly admin: pg.Client;
}

/** A separate database on the shared server, for tests of daemons: a daemon serves every board of its database. */
export async function openOwnDatabase(serverUrl: string): Promise<OwnDatabase> {
  const name = `hermes_test_${randomBytes(8).toString("hex")}`;
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const address = new URL(serverUrl);
  address.pathname = `/${name}`;
  return {
    name,
    url: address.href,
    admin,
    async [Symbol.asyncDispose]() {
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}
