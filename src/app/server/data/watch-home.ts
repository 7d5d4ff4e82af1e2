import type { HomeChanges } from "../../../api/dashboard/data/home-changes.ts";
import { boardPath, boardSchemaName } from "../../../board/board-slug.ts";
import type { Announcements } from "../../../board/database/postgres-announcements.ts";
import { watchFile } from "../../../lib/files/watch-file.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { waitForTouch } from "../../../lib/time/wait-for-touch.ts";
import { WakeFlag } from "../../../lib/time/wake-flag.ts";
import { listProfiles } from "../../../profiles/profile-store.ts";
import type { App } from "../../app.ts";
import { boardsLocation, findBoards } from "../../board.ts";

/** Watches the files of all boards and sessions, and the announcements of a server with boards. */
export function createHomeChanges(app: App, announcements: Announcements | undefined): HomeChanges {
  const { root, databaseUrl } = boardsLocation(app);
  return {
    async watch(signal) {
      const touched = new WakeFlag();
      const watches = new Map<string, Disposable>();
      /** Also starts to watch what was created since the last call, and stops to watch what was removed. */
      const watchAll = async (within: AbortSignal): Promise<void> => {
        const wanted = new Map<string, () => Disposable | undefined>();
        for (const { sessionsPath } of await listProfiles(app.profile.root))
          wanted.set(sessionsPath, () => openFileWatch(sessionsPath, touched));
        for (const slug of await findBoards(app, within)) {
          const path = boardPath(root, slug);
          wanted.set(`board ${slug}`, () =>
            databaseUrl === ""
              ? openFileWatch(path, touched)
              : announcements?.subscribe(boardSchemaName(slug), touched),
          );
        }
        for (const [name, watch] of watches) {
          if (wanted.has(name)) continue;
          watch[Symbol.dispose]();
          watches.delete(name);
        }
        for (const [name, open] of wanted) {
          const watch = watches.has(name) ? undefined : open();
          if (watch !== undefined) watches.set(name, watch);
        }
      };
      await watchAll(signal);
      return {
        async next(atMostMs, within) {
          const isTouched = await waitForTouch(touched, atMostMs, systemClock, within);
          if (!isTouched) await watchAll(within);
        },
        async [Symbol.asyncDispose]() {
          for (const watch of watches.values()) watch[Symbol.dispose]();
        },
      };
    },
  };
}

/** Undefined if the file's folder does not exist yet or the system has no watches left; then changes are found by polling. */
function openFileWatch(path: string, touched: WakeFlag): Disposable | undefined {
  const watcher = watchFile(path, touched);
  return watcher && { [Symbol.dispose]: () => watcher.close() };
}
