import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { ensurePrivateFolder } from "../../lib/files/files.ts";
import {
  checkLiveness,
  findIdentity,
  parseIdentity,
  readOwnIdentity,
  serialiseIdentity,
} from "../../lib/process/process-identity.ts";
import { type Database, openDatabase } from "../../lib/sqlite/database.ts";
import type { Migration } from "../../lib/sqlite/migrate.ts";
import { isReadOnlyFailure, openReadableCopy } from "../../lib/sqlite/readable-copy.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** The right to run one task on this host; all boards of a root home share the slots. */
export interface Slot {
  /** Makes the supervisor the owner of the slot; the slot is free again when that process exits. */
  giveTo(supervisorPid: number, signal: AbortSignal): Promise<void>;
  /** Frees a slot whose task was not started. */
  release(signal: AbortSignal): Promise<void>;
}

/** The slots of this host. No transaction spans two boards, so a slot is reserved here before a task is claimed. */
export interface HostSlots extends Disposable {
  /** Undefined when `limit` slots are taken. */
  reserve(limit: number, signal: AbortSignal): Promise<Slot | undefined>;
  /** How many slots other boards have taken. */
  countElsewhere(signal: AbortSignal): Promise<number>;
}

interface SlotRow {
  readonly id: string;
  readonly board: string;
  readonly owner: string;
}

export const slotMigrations: readonly Migration[] = [
  {
    name: "slots",
    sql: "create table slot (id text primary key, host text not null, board text not null, owner text not null, expires_at integer not null) strict",
  },
];
/** How long a slot stays taken when its owner cannot be inspected, for instance because it runs in another container. */
const LEASE_MS = 3_600_000;

const slotsPath = (root: string): string => join(root, "kanban", "slots.sqlite");

function openSlots(path: string, clock: Clock, signal: AbortSignal): Promise<Database> {
  return openDatabase(path, { migrations: slotMigrations, synchronous: "NORMAL", clock }, signal);
}

/** A supervisor calls this before it reports the end of its run, so that a dispatcher woken by the report finds a free slot. */
export async function releaseOwnSlot(root: string, clock: Clock, signal: AbortSignal): Promise<void> {
  if (!existsSync(slotsPath(root))) return;
  const owner = serialiseIdentity(await readOwnIdentity(signal));
  using slots = await openSlots(slotsPath(root), clock, signal);
  await change(slots, "delete from slot where owner = :owner", { owner }, signal);
}

async function change(
  slots: Database,
  sql: string,
  values: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  await slots.write(() => slots.prepare(sql).run(values), signal);
}

/** Opens the slots database on first use. */
export function openHostSlots(
  { root, host, board }: { readonly root: string; readonly host: string; readonly board: string },
  clock: Clock,
): HostSlots {
  let opened: Promise<Database> | undefined;
  const open = async (signal: AbortSignal): Promise<Database> => {
    await ensurePrivateFolder(dirname(slotsPath(root)));
    return openSlots(slotsPath(root), clock, signal);
  };
  const database = (signal: AbortSignal): Promise<Database> => {
    opened ??= open(signal).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  /** Splits the slots into those whose owner may be alive and those whose owner has exited. */
  const inspect = async (slots: Database, signal: AbortSignal) => {
    const rows = slots
      .prepare<SlotRow & { expires_at: number }>("select * from slot where host = :host")
      .all({ host });
    const taken: SlotRow[] = [];
    const abandoned: SlotRow[] = [];
    for (const row of rows) {
      const identity = parseIdentity(row.owner);
      const liveness = identity === undefined ? "dead" : await checkLiveness(identity, signal);
      const isTaken = liveness === "alive" || (liveness === "unknown" && row.expires_at > clock.now());
      (isTaken ? taken : abandoned).push(row);
    }
    return { taken, abandoned };
  };
  /** Reads a copy of the database where the home is read-only. */
  const listTaken = async (signal: AbortSignal): Promise<readonly SlotRow[]> => {
    const path = slotsPath(root);
    if (!existsSync(path)) return [];
    try {
      return (await inspect(await database(signal), signal)).taken;
    } catch (error) {
      if (!(await isReadOnlyFailure(path, error))) throw error;
    }
    const copy = await openReadableCopy(path, (at) => openSlots(at, clock, signal));
    try {
      using slots = copy.opened;
      return (await inspect(slots, signal)).taken;
    } finally {
      await copy.remove();
    }
  };
  return {
    async reserve(limit, signal) {
      const owner = serialiseIdentity(await readOwnIdentity(signal));
      const slots = await database(signal);
      for (const { id, owner } of (await inspect(slots, signal)).abandoned)
        await change(slots, "delete from slot where id = :id and owner = :owner", { id, owner }, signal);
      const id = randomUUID();
      const release = (within: AbortSignal) =>
        change(slots, "delete from slot where id = :id", { id }, within);
      const isReserved = await slots.write(() => {
        const taken = slots.prepare("select id from slot where host = :host").all({ host });
        if (taken.length >= limit) return false;
        const insert = "insert into slot (id, host, board, owner, expires_at)";
        const until = clock.now() + LEASE_MS;
        slots
          .prepare(`${insert} values (:id, :host, :board, :owner, :until)`)
          .run({ id, host, board, owner, until });
        return true;
      }, signal);
      if (!isReserved) return undefined;
      return {
        release,
        async giveTo(pid, within) {
          const supervisor = await findIdentity(pid, within);
          if (supervisor === undefined) return release(within); // the supervisor has exited already
          const values = { id, owner: serialiseIdentity(supervisor) };
          await change(slots, "update slot set owner = :owner where id = :id", values, within);
        },
      };
    },
    async countElsewhere(signal) {
      return (await listTaken(signal)).filter((slot) => slot.board !== board).length;
    },
    [Symbol.dispose]() {
      void opened?.then((slots) => slots[Symbol.dispose]());
    },
  };
}
