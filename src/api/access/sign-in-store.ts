import { createHash, randomBytes, randomUUID } from "node:crypto";
import { type Database, openDatabase } from "../../lib/sqlite/database.ts";
import { leaseMigration } from "../../lib/sqlite/lease.ts";
import type { Migration } from "../../lib/sqlite/migrate.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { DashboardScope } from "../contract/scopes.ts";

/** The sign-in of one browser. */
export interface SignIn {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly DashboardScope[];
}

/** The running dashboard of a home. */
export interface ServerRecord {
  /** The address for people, without a trailing slash. */
  readonly url: string;
  /** Whether a one-time link signs in there. */
  readonly takesLinks: boolean;
}

const CODE_BYTES = 16;
const TOKEN_BYTES = 32;
export const CODE_MS = 10 * 60_000;
export const SIGN_IN_MS = 30 * 24 * 3_600_000;
/** How often the expiry of a sign-in is extended, because each extension is a write. */
const RENEW_EVERY_MS = 3_600_000;

const signInMigration: Migration = {
  name: "sign-ins",
  // Codes and cookies are stored only as hashes: they are random, so a plain hash cannot be reversed.
  sql: `
    create table sign_in (
      id text primary key,
      hash text not null unique,
      name text not null,
      scopes text not null check (json_valid(scopes)),
      created_at integer not null,
      expires_at integer not null
    ) strict, without rowid;

    create table enter_code (
      hash text primary key,
      scopes text not null check (json_valid(scopes)),
      expires_at integer not null
    ) strict, without rowid;

    create table server (
      one integer primary key check (one = 1),
      url text not null,
      takes_links integer not null check (takes_links in (0, 1))
    ) strict`,
};

export type SignInStore = Awaited<ReturnType<typeof openSignInStore>>;

/** Opens `dashboard.sqlite`: sign-ins, unused links, and the address of the running server. */
export async function openSignInStore(path: string, clock: Clock, signal: AbortSignal) {
  const database = await openDatabase(
    path,
    { migrations: [leaseMigration, signInMigration], synchronous: "NORMAL", clock },
    signal,
  );
  return { database, ...createSignIns(database) };
}

interface SignInRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: string;
  readonly expires_at: number;
  readonly now: number;
}

function createSignIns(database: Database) {
  const find = database.prepare<SignInRow>(
    "select id, name, scopes, expires_at, hermes_now() now from sign_in where hash = ? and expires_at > hermes_now()",
  );
  const exists = database.prepare("select 1 from sign_in where id = ? and expires_at > hermes_now()");
  const insert = database.prepare(`
    insert into sign_in (id, hash, name, scopes, created_at, expires_at)
    values (:id, :hash, :name, :scopes, hermes_now(), hermes_now() + :lifetimeMs)`);
  const renew = database.prepare("update sign_in set expires_at = hermes_now() + ? where hash = ?");
  const remove = database.prepare("delete from sign_in where id = ?");
  const removeAll = database.prepare("delete from sign_in");
  const removeExpired = [
    database.prepare("delete from sign_in where expires_at <= hermes_now()"),
    database.prepare("delete from enter_code where expires_at <= hermes_now()"),
  ];
  const insertCode = database.prepare(
    "insert into enter_code (hash, scopes, expires_at) values (:hash, :scopes, hermes_now() + :lifetimeMs)",
  );
  const useCode = database.prepare<{ scopes: string; isLate: 0 | 1 }>(
    "delete from enter_code where hash = ? returning scopes, expires_at <= hermes_now() isLate",
  );
  const removeCodes = database.prepare("delete from enter_code");
  const readServer = database.prepare<{ url: string; takes_links: 0 | 1 }>(
    "select url, takes_links from server",
  );
  const writeServer = database.prepare(`
    insert into server (one, url, takes_links) values (1, :url, :takesLinks)
    on conflict (one) do update set url = excluded.url, takes_links = excluded.takes_links`);

  const add = (name: string, scopes: string): string => {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    insert.run({ id: randomUUID(), hash: hashOf(token), name, scopes, lifetimeMs: SIGN_IN_MS });
    return token;
  };

  return {
    /** Finds the sign-in of a cookie. */
    find(token: string): SignIn | undefined {
      const row = find.get(hashOf(token));
      return row && { id: row.id, name: row.name, scopes: JSON.parse(row.scopes) as DashboardScope[] };
    },
    /** Stores a new sign-in. Returns its cookie. */
    add: (name: string, scopes: readonly DashboardScope[], signal: AbortSignal): Promise<string> =>
      database.write(() => add(name, JSON.stringify(scopes)), signal),
    isSignedIn: (id: string): boolean => exists.get(id) !== undefined,
    /** Extends a sign-in. Returns false if it was extended recently or does not exist. */
    async renew(token: string, signal: AbortSignal): Promise<boolean> {
      const hash = hashOf(token);
      const row = find.get(hash);
      if (row === undefined || row.expires_at - row.now > SIGN_IN_MS - RENEW_EVERY_MS) return false;
      return await database.write(() => renew.run(SIGN_IN_MS, hash).changes === 1, signal);
    },
    /** Creates a code that signs one browser in, once. */
    async createCode(scopes: readonly DashboardScope[], signal: AbortSignal): Promise<string> {
      const code = randomBytes(CODE_BYTES).toString("base64url");
      const row = { hash: hashOf(code), scopes: JSON.stringify(scopes), lifetimeMs: CODE_MS };
      await database.write(() => {
        for (const statement of removeExpired) statement.run();
        insertCode.run(row);
      }, signal);
      return code;
    },
    /** Signs in with a code. Returns the cookie; undefined if the code is wrong, used or late. */
    useCode: (code: string, name: string, signal: AbortSignal): Promise<string | undefined> =>
      database.write(() => {
        const found = useCode.get(hashOf(code));
        return found === undefined || found.isLate === 1 ? undefined : add(name, found.scopes);
      }, signal),
    signOut: (id: string, signal: AbortSignal): Promise<boolean> =>
      database.write(() => remove.run(id).changes === 1, signal),
    /** Ends every sign-in and every unused link. Returns the number of sign-ins. */
    signOutAll: (signal: AbortSignal): Promise<number> =>
      database.write(() => {
        removeCodes.run();
        return removeAll.run().changes;
      }, signal),
    readServer(): ServerRecord | undefined {
      const row = readServer.get();
      return row && { url: row.url, takesLinks: row.takes_links === 1 };
    },
    writeServer: ({ url, takesLinks }: ServerRecord, signal: AbortSignal) =>
      database.write(() => writeServer.run({ url, takesLinks: takesLinks ? 1 : 0 }), signal),
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
