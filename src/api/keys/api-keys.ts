import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { AppError } from "../../lib/errors.ts";
import type { ApiDatabase } from "../store/api-database.ts";
import { type Caller, SCOPES } from "./caller.ts";

const KEY_BYTES = 32;
const MIN_KEY_LENGTH = 32;
const MIN_DIFFERENT = 10;

/** The owner of everything that was created with API_SERVER_KEY, even after that key was replaced. */
const MAIN: Caller = { id: "main", name: "API_SERVER_KEY", scopes: SCOPES };

export function createApiKey(): string {
  return `hermes_${randomBytes(KEY_BYTES).toString("base64url")}`;
}

/** Throws `api-key-weak` for a key that can be guessed. */
export function requireStrongKey(key: string): void {
  if (key.length >= MIN_KEY_LENGTH && new Set(key).size >= MIN_DIFFERENT) return;
  throw new AppError("api-key-weak", "API_SERVER_KEY is too short or too uniform to keep others out.");
}

/** Finds the caller of a request by its key. Only hashes are stored and compared. */
export type FindCaller = (token: string) => Caller | undefined;

export function createCallerFinder(mainKey: string, database: Pick<ApiDatabase, "findKey">): FindCaller {
  const main = hashKey(mainKey);
  return (token) => {
    const hash = hashKey(token);
    return timingSafeEqual(hash, main) ? MAIN : database.findKey(hash.toString("hex"));
  };
}

export function hashKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
