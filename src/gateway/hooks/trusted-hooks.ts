import type { Database } from "../../lib/sqlite/database.ts";

export type TrustedHooks = ReturnType<typeof createTrustedHooks>;

/** The hooks that a person has trusted, by the hash of their files. A hook that has changed since is not run. */
export function createTrustedHooks(database: Database) {
  const find = database.prepare<{ hash: string }>("select hash from trusted_hook where name = ?");
  const upsert = database.prepare(`
    insert into trusted_hook (name, hash, trusted_at) values (?, ?, hermes_now())
    on conflict (name) do update set hash = excluded.hash, trusted_at = excluded.trusted_at`);
  const remove = database.prepare("delete from trusted_hook where name = ?");
  return {
    hashOf: (name: string): string | undefined => find.get(name)?.hash,
    trust: (name: string, hash: string, signal: AbortSignal): Promise<void> =>
      database.write(() => void upsert.run(name, hash), signal),
    distrust: (name: string, signal: AbortSignal): Promise<boolean> =>
      database.write(() => remove.run(name).changes > 0, signal),
  };
}
