import { existsSync } from "node:fs";
import { AppError } from "../../lib/errors.ts";
import { type Database, openDatabase } from "../../lib/sqlite/database.ts";
import type { Migration } from "../../lib/sqlite/migrate.ts";
import type { SqlValue } from "../../lib/sqlite/statement.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { FailureKind } from "../provider.ts";

/** What is known about one key at one server. */
export interface KeyState {
  /** In how many turns the key was used. */
  readonly uses: number;
  readonly usedAt: number | undefined;
  /** Until when the key is skipped; undefined if its last request was accepted. */
  readonly coolingUntil: number | undefined;
  /** Why the key is skipped. */
  readonly kind: FailureKind | undefined;
}

/**
 * The states of keys by fingerprint, shared by all processes of a profile. They only help to choose a key, so a file
 * that cannot be used is reported once and then ignored.
 */
export interface KeyStates extends Disposable {
  of(server: string, signal: AbortSignal): Promise<ReadonlyMap<string, KeyState>>;
  recordUse(server: string, fingerprint: string, signal: AbortSignal): Promise<void>;
  /** Never shortens a cooldown: if an earlier call set a later end, that one stays. */
  startCooldown(
    server: string,
    fingerprint: string,
    cooldown: { readonly ms: number; readonly kind: FailureKind },
    signal: AbortSignal,
  ): Promise<void>;
  /** Ends the cooldown of a key that was accepted. */
  endCooldown(server: string, fingerprint: string, signal: AbortSignal): Promise<void>;
}

export const keyStateMigrations: readonly Migration[] = [
  {
    name: "key states",
    // The fingerprint includes the server, because errors of one server say nothing about the same key at another.
    sql: `
      create table key_state (
        server text not null,
        fingerprint text not null,
        uses integer not null default 0,
        used_at integer,
        cooling_until integer,
        kind text check (kind <> ''),
        primary key (server, fingerprint),
        check ((cooling_until is null) = (kind is null))
      ) strict, without rowid`,
  },
];

interface StateRow {
  readonly fingerprint: string;
  readonly uses: number;
  readonly used_at: number | null;
  readonly cooling_until: number | null;
  readonly kind: FailureKind | null;
}

const SQL = {
  list: "select fingerprint, uses, used_at, cooling_until, kind from key_state where server = ?",
  recordUse: `
    insert into key_state (server, fingerprint, uses, used_at) values (:server, :fingerprint, 1, hermes_now())
    on conflict do update set uses = uses + 1, used_at = excluded.used_at`,
  startCooldown: `
    insert into key_state (server, fingerprint, cooling_until, kind)
    values (:server, :fingerprint, hermes_now() + :ms, :kind)
    on conflict do update set cooling_until = excluded.cooling_until, kind = excluded.kind
     where coalesce(cooling_until, 0) < excluded.cooling_until`,
  endCooldown: `
    update key_state set cooling_until = null, kind = null
     where server = :server and fingerprint = :fingerprint and cooling_until is not null`,
};

/** The file is opened at its first use, because most runs have one key and no fallback. */
export function createKeyStates(
  path: string,
  { clock, report }: { readonly clock: Clock; report(problem: string): void },
): KeyStates {
  let opening: Promise<Database> | undefined;
  let isBroken = false;
  const attempt = async <Result>(
    action: (database: Database) => Result | Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result | undefined> => {
    if (isBroken) return undefined;
    try {
      opening ??= openDatabase(
        path,
        { migrations: keyStateMigrations, synchronous: "NORMAL", clock, busyDeadlineMs: BUSY_DEADLINE_MS },
        signal,
      ).catch((error: unknown) => {
        opening = undefined; // the next call tries again, in case this one was only aborted
        throw error;
      });
      return await action(await opening);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof AppError)) throw error;
      if (!isBroken) report(`The states of the keys cannot be used: ${error.message} ${error.hint}`);
      isBroken = true;
      return undefined;
    }
  };
  const write = (
    sql: string,
    values: Readonly<Record<string, SqlValue>>,
    signal: AbortSignal,
  ): Promise<void> =>
    attempt(async (database) => {
      await database.write(() => void database.prepare(sql).run(values), signal);
    }, signal);
  return {
    async of(server, signal) {
      if (opening === undefined && !existsSync(path)) return new Map();
      const rows = await attempt((database) => database.prepare<StateRow>(SQL.list).all(server), signal);
      return new Map((rows ?? []).map((row) => [row.fingerprint, toState(row)]));
    },
    recordUse: (server, fingerprint, signal) => write(SQL.recordUse, { server, fingerprint }, signal),
    startCooldown: (server, fingerprint, { ms, kind }, signal) =>
      write(SQL.startCooldown, { server, fingerprint, ms, kind }, signal),
    endCooldown: (server, fingerprint, signal) => write(SQL.endCooldown, { server, fingerprint }, signal),
    [Symbol.dispose]: () =>
      void opening?.then(
        (database) => database[Symbol.dispose](),
        () => undefined, // reported above
      ),
  };
}

/** A busy file must not delay a turn. */
const BUSY_DEADLINE_MS = 2_000;

function toState({ uses, used_at, cooling_until, kind }: StateRow): KeyState {
  return {
    uses,
    usedAt: used_at ?? undefined,
    coolingUntil: cooling_until ?? undefined,
    kind: kind ?? undefined,
  };
}
