import type { Database } from "../../lib/sqlite/database.ts";
import { commonPrefixLength } from "../../lib/text/common-prefix-length.ts";

interface PrefixRow {
  readonly key: number;
  readonly prefix_kept: number;
  readonly prefix_added: string;
}

interface CachedPrefix {
  readonly requestKey: number;
  prefix: readonly string[];
}

const REMEMBERED_SESSIONS = 64;

export type PrefixStore = ReturnType<typeof createPrefixStore>;

/** The hashes of the parts of each request, stored as a difference from the previous request. */
export function createPrefixStore(database: Database) {
  const list = database.prepare<PrefixRow>(`
    select key, prefix_kept, prefix_added from request
     where session_key = ? and key > ? and prefix_kept is not null order by key`);
  const findLastActive = database.prepare<{ key: number }>(`
    select request.key from request join turn on turn.key = request.turn_key
     where request.session_key = ? and prefix_kept is not null and undone_at is null
     order by request.key desc limit 1`);
  // Requests are append-only, so cached entries stay valid.
  const seen = new Map<number, CachedPrefix>();

  /** The hashes of the last request of a session; empty before the first request. */
  function last(sessionKey: number): CachedPrefix {
    let { requestKey, prefix } = seen.get(sessionKey) ?? { requestKey: 0, prefix: [] };
    for (const row of list.all(sessionKey, requestKey)) {
      prefix = applyDifference(prefix, row);
      requestKey = row.key;
    }
    if (seen.size >= REMEMBERED_SESSIONS) seen.clear();
    const newest = { requestKey, prefix };
    seen.set(sessionKey, newest);
    return newest;
  }

  /** The hashes of the last request of a turn that is not undone. The next request should start with them. */
  function lastActive(sessionKey: number): readonly string[] {
    const { requestKey, prefix } = last(sessionKey);
    const active = findLastActive.get(sessionKey)?.key ?? 0;
    if (requestKey === active) return prefix;
    return list
      .all(sessionKey, 0)
      .filter(({ key }) => key <= active)
      .reduce<readonly string[]>(applyDifference, []);
  }

  return {
    lastActive,
    /** How many leading hashes `prefix` shares with the last request, and the hashes that it adds. */
    compact(sessionKey: number, prefix: readonly string[]): { kept: number; added: string } {
      const newest = last(sessionKey);
      const kept = commonPrefixLength(newest.prefix, prefix);
      // Keep the same string objects: comparing a string with itself is fast, and the next request contains them again.
      newest.prefix = [...prefix.slice(0, kept), ...newest.prefix.slice(kept)];
      return { kept, added: JSON.stringify(prefix.slice(kept)) };
    },
  };
}

function applyDifference(prefix: readonly string[], row: PrefixRow): readonly string[] {
  return [...prefix.slice(0, row.prefix_kept), ...(JSON.parse(row.prefix_added) as string[])];
}
