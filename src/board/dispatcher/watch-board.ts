import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { boardPath } from "../board-slug.ts";
import type { BoardPlace } from "../board-store.ts";
import type { DispatchBoard } from "./dispatch-board.ts";
import { lastEvent } from "./operations/board-lease.ts";

const POLL_MS = 1_000;

/** Says when something has happened on a board, whoever did it. */
export interface BoardWatch extends Disposable {
  /** What has happened until now is no news any more. Called before looking, so that nothing falls in between. */
  mark(signal: AbortSignal): Promise<void>;
  /** Resolves when there is an event that was not there at the last mark. */
  changed(signal: AbortSignal): Promise<void>;
}

/**
 * Watches the number of a board's last event. In a file, every commit of any process touches the log beside it, which
 * the system announces at once; on a server, and where nothing can be watched, the number is asked for each second.
 */
export function watchBoard(place: BoardPlace, board: DispatchBoard, clock: Clock): BoardWatch {
  const touched = new Touch();
  const watcher = place.databaseUrl === "" ? tryWatch(boardPath(place.root, place.slug), touched) : undefined;
  let seen = -1;
  const ask = (signal: AbortSignal): Promise<number> => board.read(lastEvent, signal);
  return {
    async mark(signal) {
      touched.reset();
      seen = await ask(signal);
    },
    async changed(signal) {
      while ((await ask(signal)) === seen) {
        if (watcher === undefined || touched.isBroken) await clock.sleep(POLL_MS, signal);
        else await touched.next(signal);
      }
    },
    [Symbol.dispose]: () => watcher?.close(),
  };
}

function tryWatch(path: string, touched: Touch): FSWatcher | undefined {
  const name = basename(path);
  try {
    const watcher = watch(dirname(path), (_, file) => {
      if (file === null || file.startsWith(name)) touched.touch();
    });
    watcher.on("error", () => touched.breakDown()); // from now on it is asked for instead
    return watcher;
  } catch {
    return undefined; // the system may have no watches left, and asking does as well
  }
}

/** Remembers a touch until someone has waited for it. */
class Touch {
  isBroken = false;
  #isTouched = false;
  #wake: (() => void) | undefined;

  touch(): void {
    this.#isTouched = true;
    this.#wake?.();
  }

  reset(): void {
    this.#isTouched = false;
  }

  breakDown(): void {
    this.isBroken = true;
    this.touch();
  }

  async next(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#isTouched) {
      await new Promise<void>((resolve, reject) => {
        const abort = (): void => reject(signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        this.#wake = () => {
          signal.removeEventListener("abort", abort);
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#isTouched = false;
  }
}
