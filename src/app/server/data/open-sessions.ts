import { existsSync } from "node:fs";
import { AppError } from "../../../lib/errors.ts";
import { profileAt, requireProfile } from "../../../profiles/profile.ts";
import { parseProfileName } from "../../../profiles/profile-name.ts";
import { openSessionStore, type SessionStore } from "../../../sessions/session-store.ts";
import type { App } from "../../app.ts";
import { keepOpen } from "./open-by-name.ts";

/** Reads what pages show of the runs of tasks. */
type SessionFacts = ReturnType<SessionStore["facts"]>;

/** The sessions of all profiles of a home. */
export interface OpenSessions extends AsyncDisposable {
  /** The store of a profile; throws `profile-not-found`. */
  open(profile: string): Promise<SessionStore>;
  /** Closes the store of a profile that is about to be deleted. */
  close(profile: string): Promise<void>;
  /** Reads from a profile; undefined if it has no sessions on this host. */
  findRun<Result>(profile: string | null, read: (facts: SessionFacts) => Result): Promise<Result | undefined>;
}

const OPEN_WITHIN_MS = 30_000;

/** Opens the sessions of each profile once, when they are first needed. */
export function openSessions({ profile: { root } }: App): OpenSessions {
  const stores = keepOpen(
    async (name): Promise<Disposable & { store: SessionStore; facts: SessionFacts }> => {
      const { sessionsPath } = await requireProfile(root, name);
      const store = await openSessionStore(sessionsPath, {}, AbortSignal.timeout(OPEN_WITHIN_MS));
      return { store, facts: store.facts(), [Symbol.dispose]: () => store[Symbol.dispose]() };
    },
    (name) => profileAt(root, parseProfileName(name)).sessionsPath,
  );
  return {
    open: async (name) => (await stores.get(name)).store,
    close: (name) => stores.close(name),
    async findRun(name, read) {
      if (name === null) return undefined;
      try {
        if (!existsSync(profileAt(root, name).sessionsPath)) return undefined; // a lane, or another host's profile
        return read((await stores.get(name)).facts);
      } catch (error) {
        if (error instanceof AppError) return undefined; // the pages about sessions report the problem
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  };
}
