import type { Unsent, UnsentOwner, UnsentStore } from "./unsent-store.ts";

/** Writes the unsent texts of a chat to disk shortly after they have changed, so that typing does not wait for the disk. */
export interface UnsentKeeper {
  /** Sets the owner of the texts from now on. */
  setOwner(owner: UnsentOwner): void;
  /** The session has a message now, so it can be resumed. Writes at once, so that the message is not offered again. */
  markStored(): void;
  /** The texts may have changed. Cheap, because it is called for every key. */
  touch(): void;
  /** Writes pending changes now. */
  flush(): Promise<void>;
}

export interface KeeperParts {
  readonly store: UnsentStore;
  /** The current texts. */
  read(): Unsent;
  onFailure(error: unknown): void;
}

const WRITE_AFTER_MS = 250;

export function createUnsentKeeper({ store, read, onFailure }: KeeperParts): UnsentKeeper {
  let owner: UnsentOwner | undefined;
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  let last = "";
  let hasFailed = false;

  async function write(): Promise<void> {
    if (owner === undefined) return;
    const unsent = read();
    const key = JSON.stringify([owner, unsent]);
    if (key === last) return;
    try {
      await store.write(owner, unsent);
      last = key;
    } catch (error) {
      // Reported once: a full disk would otherwise be reported at every key.
      if (!hasFailed) onFailure(error);
      hasFailed = true;
    }
  }
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write);
    return writing;
  }
  function touch(): void {
    timer ??= setTimeout(flush, WRITE_AFTER_MS);
  }
  return {
    setOwner(next) {
      owner = next;
      touch();
    },
    markStored() {
      owner = owner && { ...owner, isStored: true };
      void flush();
    },
    touch,
    flush,
  };
}
