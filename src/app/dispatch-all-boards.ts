import { boardPath } from "../board/board-slug.ts";
import type { BoardStore } from "../board/board-store.ts";
import { Announcements } from "../board/database/postgres-announcements.ts";
import type { PassReport } from "../board/dispatcher/pass-report.ts";
import type { DispatchPolicy } from "../board/dispatcher/rules/resolve-dispatch-policy.ts";
import { type DispatchedBoard, runDispatcher } from "../board/dispatcher/run-dispatcher.ts";
import { AppError, messageOf } from "../lib/errors.ts";
import { exists } from "../lib/files/unless-missing.ts";
import type { Log } from "../lib/log/log.ts";
import { WakeFlag } from "../lib/time/wake-flag.ts";
import type { App } from "./app.ts";
import { boardsLocation, findBoards } from "./board.ts";
import { openDispatchedBoard, ownDispatcher } from "./dispatch.ts";
import { policyOf } from "./dispatch-policy.ts";

/** What the process that hosts the dispatcher does with its reports. */
export interface DispatcherHost {
  readonly log: Log;
  /** Reads the settings again. */
  reload(): Promise<App>;
  onPass(report: PassReport, store: BoardStore | undefined): void;
  onIdle(report: PassReport): void;
  onFailure(slug: string, error: unknown): void;
  /** Resolves when no report needs its board any more. */
  settled(): Promise<void>;
}

/** Dispatches all boards of the home until the signal aborts; the pass in progress is finished. */
export async function dispatchAllBoards(app: App, host: DispatcherHost, signal: AbortSignal): Promise<void> {
  const { log } = host;
  let policy: DispatchPolicy = policyOf(app);
  const { root, databaseUrl } = boardsLocation(app);
  const boardsTouched = new WakeFlag();
  await using announcements =
    databaseUrl === ""
      ? undefined
      : new Announcements({
          url: databaseUrl,
          onUnknownBoard: () => boardsTouched.touch(),
          onLost: (error) =>
            log.warn("changes are not announced; polling instead", { error: messageOf(error) }),
        });
  const stores = new Map<string, BoardStore>();
  const opened = new Set<string>();
  await runDispatcher(
    {
      ...(await ownDispatcher(signal)),
      listBoards: (within) => findBoards(app, within),
      boardsChanged: (within) => boardsTouched.next(within),
      async openBoard(slug, within): Promise<DispatchedBoard> {
        const path = boardPath(root, slug);
        // Do not create an empty board: the user may be about to restore a backup.
        if (opened.has(slug) && databaseUrl === "" && !(await exists(path)))
          throw new AppError("database-unavailable", `${path} no longer exists.`);
        opened.add(slug);
        const board = await openDispatchedBoard(app, slug, announcements, within);
        stores.set(slug, board.store);
        return {
          ...board,
          async [Symbol.asyncDispose]() {
            await host.settled();
            stores.delete(slug);
            await board[Symbol.asyncDispose]();
          },
        };
      },
      async loadPolicy() {
        try {
          policy = policyOf(await host.reload());
        } catch (error) {
          log.warn("the settings cannot be read; using the previous ones", { error: messageOf(error) });
        }
        return policy;
      },
      onPass: (report) => host.onPass(report, stores.get(report.board)),
      onIdle: host.onIdle,
      onFailure: host.onFailure,
    },
    signal,
  );
}
