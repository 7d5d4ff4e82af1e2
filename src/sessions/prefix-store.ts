import type { Database } from "../lib/database.ts";
import { sharedBeginning } from "../lib/shared-beginning.ts";

interface PrefixRow {
  readonly key: number;
  readonly prefix_kept: number;
  readonly prefix_added: string;
}

/** The hashes of what was sent, stored as the difference from the request before. */
export interface PrefixStore {
  /** The list of the last request of a session; empty before the first. */
  last(sessionKey: number): readonly string[];
  /** How many hashes of the last list `prefix` keeps from its start, and those it adds. */
  compact(sessionKey: number, prefix: readonly string[]): { kept: number; added: string };
}

const REMEMBERED_SESSIONS = 64;

export function createPrefixStore(database: Database): PrefixStore {
  const list = database.prepare<PrefixRow>(`
    select key, prefix_kept, prefix_added from request
     where session_key = ? and key > ? and prefix_kept is not null order by key`);
  // Requests are only ever added, so what was read once stays true.
  const seen = new Map<number, { readonly requestKey: number; readonly prefix: readonly string[] }>();

  function last(sessionKey: number): readonly string[] {
    let { requestKey, prefix } = seen.get(sessionKey) ?? { requestKey: 0, prefix: [] };
    for (const row of list.all(sessionKey, requestKey)) {
      prefix = [...prefix.slice(0, row.prefix_kept), ...(JSON.parse(row.prefix_added) as string[])];
      requestKey = row.key;
    }
    if (seen.size >= REMEMBERED_SESSIONS) seen.clear();
    seen.set(sessionKey, { requestKey, prefix });
    return prefix;
  }

  return {
    last,
    compact(sessionKey, prefix) {
      const before = last(sessionKey);
      const kept = sharedBeginning(before, prefix);
      return { kept, added: JSON.stringify(prefix.slice(kept)) };
    },
  };
}
