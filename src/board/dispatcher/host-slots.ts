import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { type Database, openDatabase } from "../../lib/database.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";
import type { Migration } from "../../lib/migrate.ts";
import {
  identityOf,
  livenessOf,
  ownIdentity,
  parseIdentity,
  serialiseIdentity,
} from "../../lib/process-identity.ts";
import { isOnlyReadable, openReadableCopy } from "../../lib/readable-copy.ts";

/** A place among the tasks that may run on this host for all boards of one root home. */
export interface Slot {
  /** Its task runs: it is the supervisor's, and free when that one is gone. */
  giveTo(supervisorPid: number, signal: AbortSignal): Promise<void>;
  /** Nothing was started. */
  release(signal: AbortSignal): Promise<void>;
}

/** The places of this host. No transaction spans two boards, so they are reserved here before a task is claimed. */
export interface HostSlots extends Disposable {
  /** Undefined when `limit` are taken. */
  reserve(limit: number, signal: AbortSignal): Promise<Slot | undefined>;
  /** How many are taken by other boards than this one. */
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
/** A slot whose owner cannot be looked at, such as one in another container, is free after so long. */
const LEASE_MS = 3_600_000;

const slotsPath = (root: string): string => join(root, "kanban", "slots.sqlite");

function openSlots(path: string, clock: Clock, signal: AbortSignal): Promise<Database> {
  return openDatabase(path, { migrations: slotMigrations, synchronous: "NORMAL", clock }, signal);
}

/** A supervisor gives its slot back before it tells of its run's end, so that whoever hears of it finds the place free. */
export async function releaseOwnSlot(root: string, clock: Clock, signal: AbortSignal): Promise<void> {
  if (!existsSync(slotsPath(root))) return;
  const owner = serialiseIdentity(await ownIdentity(signal));
  using slots = await openSlots(slotsPath(root), clock, signal);
  await slots.write(() => slots.prepare("delete from slot where owner = :owner").run({ owner }), signal);
}

/** Opens the file with the first use. */
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
  /** Which slots have an owner that may live, and which have not. */
  const look = async (slots: Database, signal: AbortSignal) => {
    const rows = slots
      .prepare<SlotRow & { expires_at: number }>("select * from slot where host = :host")
      .all({ host });
    const taken: SlotRow[] = [];
    const left: SlotRow[] = [];
    for (const row of rows) {
      const identity = parseIdentity(row.owner);
      const liveness = identity === undefined ? "dead" : await livenessOf(identity, signal);
      const isTaken = liveness === "alive" || (liveness === "unknown" && row.expires_at > clock.now());
      (isTaken ? taken : left).push(row);
    }
    return { taken, left };
  };
  /** In a home that may only be read, a copy is looked at. */
  const lookOnly = async (signal: AbortSignal): Promise<readonly SlotRow[]> => {
    const path = slotsPath(root);
    if (!existsSync(path)) return [];
    try {
      return (await look(await database(signal), signal)).taken;
    } catch (error) {
      if (!(await isOnlyReadable(path, error))) throw error;
    }
    const copy = await openReadableCopy(path, (at) => openSlots(at, clock, signal));
    try {
      using slots = copy.opened;
      return (await look(slots, signal)).taken;
    } finally {
      await copy.remove();
    }
  };
  return {
    async reserve(limit, signal) {
      const owner = serialiseIdentity(await ownIdentity(signal));
      const slots = await database(signal);
      const forget = slots.prepare("delete from slot where id = :id and owner = :owner");
      for (const { id, owner } of (await look(slots, signal)).left)
        await slots.write(() => forget.run({ id, owner }), signal);
      const id = randomUUID();
      const release = async (within: AbortSignal): Promise<void> => {
        await slots.write(() => slots.prepare("delete from slot where id = :id").run({ id }), within);
      };
      const isMine = await slots.write(() => {
        const [{ taken } = { taken: 0 }] = slots
          .prepare<{ taken: number }>("select count(*) as taken from slot where host = :host")
          .all({ host });
        if (taken >= limit) return false;
        slots
          .prepare(
            "insert into slot (id, host, board, owner, expires_at) values (:id, :host, :board, :owner, :until)",
          )
          .run({ id, host, board, owner, until: clock.now() + LEASE_MS });
        return true;
      }, signal);
      if (!isMine) return undefined;
      return {
        release,
        async giveTo(pid, within) {
          const supervisor = await identityOf(pid, within);
          if (supervisor === undefined) return release(within); // over already
          await slots.write(
            () =>
              slots
                .prepare("update slot set owner = :owner where id = :id")
                .run({ id, owner: serialiseIdentity(supervisor) }),
            within,
          );
        },
      };
    },
    async countElsewhere(signal) {
      return (await lookOnly(signal)).filter((slot) => slot.board !== board).length;
    },
    [Symbol.dispose]() {
      void opened?.then((slots) => slots[Symbol.dispose]());
    },
  };
}
