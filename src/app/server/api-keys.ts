import { randomUUID } from "node:crypto";
import { createApiKey, hashKey } from "../../api/keys/api-keys.ts";
import { SCOPES, type Scope } from "../../api/keys/caller.ts";
import { openApiDatabase, type StoredKey } from "../../api/store/api-database.ts";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files/files.ts";
import { systemClock } from "../../lib/time/clock.ts";
import type { App } from "../app.ts";
import { apiDatabasePath } from "./api-server.ts";

export const KEY_SCOPES: readonly Scope[] = SCOPES;

/** The named keys of the API. Changes apply to a running server immediately. */
export interface ApiKeys extends Disposable {
  list(): readonly StoredKey[];
  /** Creates a key and returns it; only its hash is stored. */
  add(name: string, scopes: readonly Scope[], signal: AbortSignal): Promise<string>;
  /** Throws `key-not-found`. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

export async function openApiKeys(app: App, signal: AbortSignal): Promise<ApiKeys> {
  await ensurePrivateFolder(app.profile.home);
  const database = await openApiDatabase(apiDatabasePath(app), { clock: systemClock }, signal);
  return {
    list: database.listKeys,
    async add(name, scopes, within) {
      const key = createApiKey();
      try {
        await database.addKey({ id: randomUUID(), name, scopes }, hashKey(key).toString("hex"), within);
        return key;
      } catch (error) {
        if (errnoOf(error) !== "SQLITE_CONSTRAINT_UNIQUE") throw error;
        throw new AppError("key-exists", `The API already has a key ${name}.`, {
          hint: "Choose another name, or remove that key: `hermes gateway keys`.",
        });
      }
    },
    async remove(name, within) {
      if (await database.removeKey(name, within)) return;
      throw new AppError("key-not-found", `The API has no key ${name}.`, {
        hint: "See `hermes gateway keys`.",
      });
    },
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}
