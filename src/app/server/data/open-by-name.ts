import { stat } from "node:fs/promises";
import { AppError } from "../../../lib/errors.ts";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";

/** Resources that are opened once, by name, and stay open. */
export interface NamedResources<Thing> extends AsyncDisposable {
  /** Opens the resource, or returns the open one. After a failure, the next call tries again. */
  get(name: string): Promise<Thing>;
  /** Closes the resource, so that the next `get` opens it again. */
  close(name: string): Promise<void>;
}

interface Entry<Thing> {
  readonly thing: Promise<Thing>;
  /** Device and inode of the opened file; null while it is being opened, undefined without a file. */
  identity: string | undefined | null;
}

/**
 * Shares what `open` opens between requests, so `open` must not depend on the signal of one of them. If the file at `pathOf` is
 * replaced, for instance by a restored backup, the resource is opened again. `pathOf` returns undefined for a resource without a file.
 */
export function keepOpen<Thing extends AsyncDisposable | Disposable>(
  open: (name: string) => Promise<Thing>,
  pathOf: (name: string) => string | undefined,
): NamedResources<Thing> {
  const entries = new Map<string, Entry<Thing>>();
  let isClosed = false;
  const identify = async (name: string): Promise<string | undefined> => {
    const path = pathOf(name);
    const facts = path === undefined ? undefined : await unlessMissing(stat(path));
    return facts === undefined ? undefined : `${facts.dev}:${facts.ino}`;
  };
  const close = async (name: string): Promise<void> => {
    const entry = entries.get(name);
    entries.delete(name);
    await dispose(await entry?.thing.catch(() => undefined));
  };
  const openNew = async (name: string): Promise<Thing> => {
    const entry: Entry<Thing> = { thing: open(name), identity: null };
    entries.set(name, entry);
    try {
      const thing = await entry.thing;
      entry.identity = await identify(name); // opening may have created the file
      return thing;
    } catch (error) {
      if (entries.get(name) === entry) entries.delete(name);
      throw error;
    }
  };
  return {
    async get(name) {
      const identity = await identify(name);
      if (isClosed) throw new AppError("turns-draining", "The server is shutting down.");
      const known = entries.get(name);
      if (known === undefined) return await openNew(name);
      if (known.identity === null || known.identity === identity) return await known.thing;
      await close(name);
      return await (entries.get(name)?.thing ?? openNew(name));
    },
    close,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      for (const name of [...entries.keys()]) await close(name);
    },
  };
}

async function dispose(thing: AsyncDisposable | Disposable | undefined): Promise<void> {
  if (thing === undefined) return;
  if (Symbol.asyncDispose in thing) await thing[Symbol.asyncDispose]();
  else thing[Symbol.dispose]();
}
