import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { AppError } from "../../lib/errors.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import type { Sender } from "../platform.ts";

const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"; // no 0 and O, no 1 and I
const CODE_LENGTH = 8;
const VALID_MS = 3_600_000;
const ASK_AGAIN_MS = 600_000;
const MAX_PENDING = 3;
const MAX_FAILURES = 5;
const LOCK_MS = 3_600_000;

export interface PairingRequest {
  readonly id: string;
  readonly platform: string;
  readonly userId: string;
  readonly userName: string;
  readonly requestedAt: number;
}

export interface PairedUser {
  readonly platform: string;
  readonly userId: string;
  readonly userName: string;
  readonly pairedAt: number;
}

interface RequestRow {
  readonly id: string;
  readonly platform: string;
  readonly user_id: string;
  readonly user_name: string;
  readonly salt: Uint8Array;
  readonly code_hash: Uint8Array;
  readonly requested_at: number;
}

interface UserRow {
  readonly platform: string;
  readonly user_id: string;
  readonly user_name: string;
  readonly paired_at: number;
}

export type Pairing = ReturnType<typeof createPairing>;

/** The people who asked for access and those who got it. All processes read the same rows, so a change takes effect at once. */
export function createPairing(database: Database) {
  const prune = database.prepare("delete from pairing_request where expires_at <= hermes_now()");
  const previous = database.prepare<{ recent: 0 | 1 }>(
    "select requested_at > hermes_now() - ? as recent from pairing_request where platform = ? and user_id = ?",
  );
  const countPending = database.prepare<{ count: number }>(
    "select count(*) as count from pairing_request where platform = ? and user_id <> ?",
  );
  const request = database.prepare(`
    insert into pairing_request (id, platform, user_id, user_name, salt, code_hash, requested_at, expires_at)
    values (:id, :platform, :userId, :userName, :salt, :hash, hermes_now(), hermes_now() + :validMs)
    on conflict (platform, user_id) do update set id = excluded.id, salt = excluded.salt, code_hash = excluded.code_hash,
      user_name = excluded.user_name, requested_at = excluded.requested_at, expires_at = excluded.expires_at`);
  const requests = database.prepare<RequestRow>(
    "select * from pairing_request where expires_at > hermes_now() order by requested_at, user_id",
  );
  const removeRequest = database.prepare("delete from pairing_request where id = ?");
  const pair = database.prepare(`
    insert into paired_user (platform, user_id, user_name, paired_at) values (?, ?, ?, hermes_now())
    on conflict (platform, user_id) do update set user_name = excluded.user_name`);
  const unpair = database.prepare("delete from paired_user where platform = ? and user_id = ?");
  const paired = database.prepare<UserRow>("select * from paired_user order by platform, user_id");
  const isPaired = database.prepare<{ one: 1 }>(
    "select 1 as one from paired_user where platform = ? and user_id = ?",
  );
  const lock = database.prepare<{ failures: number; locked: 0 | 1 }>(
    "select failures, locked_until > hermes_now() as locked from pairing_failure where platform = ?",
  );
  const setFailures = database.prepare(`
    insert into pairing_failure (platform, failures, locked_until) values (:platform, :failures, hermes_now() + :lockMs)
    on conflict (platform) do update set failures = excluded.failures, locked_until = excluded.locked_until`);

  const list = (platform?: string): RequestRow[] =>
    requests.all().filter((row) => platform === undefined || row.platform === platform);

  return {
    isPaired: (platform: string, userId: string): boolean => isPaired.get(platform, userId) !== undefined,
    /** Creates a code for a stranger; undefined if this person has just got a code, or if too many people wait. Call it in a transaction. */
    request(platform: string, { id: userId, name: userName = userId }: Sender): string | undefined {
      prune.run();
      if (previous.get(ASK_AGAIN_MS, platform, userId)?.recent === 1) return undefined;
      if ((countPending.get(platform, userId)?.count ?? 0) >= MAX_PENDING) return undefined;
      const code = Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
      const salt = randomBytes(16);
      const id = randomBytes(8).toString("hex");
      request.run({ id, platform, userId, userName, salt, hash: hashOf(salt, code), validMs: VALID_MS });
      return code;
    },
    waiting: (platform?: string): readonly PairingRequest[] => list(platform).map(toRequest),
    users: (): readonly PairedUser[] =>
      paired.all().map(({ platform, user_id: userId, user_name: userName, paired_at: pairedAt }) => ({
        ...{ platform, userId, userName, pairedAt },
      })),
    /** Gives the person who asked access. Wrong codes are counted and lock the platform; a request id cannot be guessed. */
    async approve(platform: string, text: string, signal: AbortSignal): Promise<PairingRequest> {
      const word = text.replace(/[\s-]/g, "");
      const outcome = await database.write(() => {
        prune.run();
        const found = list(platform);
        const byId = found.find(({ id }) => id === word.toLowerCase());
        const failures = lock.get(platform);
        if (byId === undefined && failures?.locked === 1) return "locked";
        const matching =
          byId ?? found.find(({ salt, code_hash }) => isSame(code_hash, hashOf(salt, word.toUpperCase())));
        if (matching === undefined) {
          const count = (failures?.failures ?? 0) + 1;
          const isLocked = count >= MAX_FAILURES;
          setFailures.run({ platform, failures: isLocked ? 0 : count, lockMs: isLocked ? LOCK_MS : 0 });
          return "wrong";
        }
        pair.run(matching.platform, matching.user_id, matching.user_name);
        removeRequest.run(matching.id);
        setFailures.run({ platform, failures: 0, lockMs: 0 });
        return toRequest(matching);
      }, signal);
      if (outcome === "locked")
        throw new AppError("pairing-locked", `Too many wrong codes were entered for ${platform}.`);
      if (outcome === "wrong")
        throw new AppError(
          "pairing-not-found",
          `No request on ${platform} has this id or code, or it has expired.`,
        );
      return outcome;
    },
    /** Ends a person's access; false if the person was not paired. */
    revoke: (platform: string, userId: string, signal: AbortSignal): Promise<boolean> =>
      database.write(() => unpair.run(platform, userId).changes === 1, signal),
  };
}

function hashOf(salt: Uint8Array, code: string): Buffer {
  return createHash("sha256").update(salt).update(code).digest();
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function toRequest({
  id,
  platform,
  user_id: userId,
  user_name: userName,
  requested_at: requestedAt,
}: RequestRow) {
  return { id, platform, userId, userName, requestedAt };
}
