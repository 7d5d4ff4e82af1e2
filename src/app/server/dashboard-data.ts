import type { DashboardData } from "../../api/dashboard/dashboard-parts.ts";
import type { LiveSource } from "../../api/live/source.ts";
import { createBoardSource } from "../../api/live/sources/board.ts";
import type { Log } from "../../lib/log/log.ts";
import type { App } from "../app.ts";
import { openBoards } from "./data/open-boards.ts";
import { openSessions } from "./data/open-sessions.ts";

/** What the pages of the dashboard show and change, and the sources of their events. */
export interface AppDashboardData extends AsyncDisposable {
  readonly data: DashboardData;
  readonly sources: readonly LiveSource[];
}

/** Opens what the routes of the dashboard read, for all profiles of the home. */
export function openDashboardData(app: App, log: Pick<Log, "warn">): AppDashboardData {
  const load = async (): Promise<App> => ({ ...app, resolved: await app.reload() });
  const sessions = openSessions(app);
  const boards = openBoards(app, { load, sessions, log });
  return {
    data: { boards },
    sources: [createBoardSource(boards)],
    async [Symbol.asyncDispose]() {
      await boards[Symbol.asyncDispose]();
      await sessions[Symbol.asyncDispose]();
    },
  };
}
