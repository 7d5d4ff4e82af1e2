import { AppError } from "../../../lib/errors.ts";

/** Things that are opened once by their name and stay open. */
export interface OpenByName<Thing> extends AsyncDisposable {
  /** Opens the thing, or returns the open one. A failure is not remembered. */
  get(name: string): Promise<Thing>;
  /** Closes the thing, so that the next `get` opens it again. */
  close(name: string): Promise<void>;
}

/** Keeps what `open` opens until the end. `open` must not depend on the signal of one request, because others share it. */
export function keepOpen<Thing extends AsyncDisposable | Disposable>(
  open: (name: string) => Promise<Thing>,
): OpenByName<Thing> {
  const opened = new Map<string, Promise<Thing>>();
  let isClosed = false;
  const close = async (name: string): Promise<void> => {
    const thing = opened.get(name);
    opened.delete(name);
    await dispose(await thing?.catch(() => undefined));
  };
  return {
    async get(name) {
      if (isClosed) throw new AppError("turns-draining", "The server is ending.");
      const known = opened.get(name);
      if (known !== undefined) return await known;
      const thing = open(name);
      opened.set(name, thing);
      try {
        return await thing;
      } catch (error) {
        opened.delete(name);
        throw error;
      }
    },
    close,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      for (const name of [...opened.keys()]) await close(name);
    },
  };
}

async function dispose(thing: AsyncDisposable | Disposable | undefined): Promise<void> {
  if (thing === undefined) return;
  if (Symbol.asyncDispose in thing) await thing[Symbol.asyncDispose]();
  else thing[Symbol.dispose]();
}
