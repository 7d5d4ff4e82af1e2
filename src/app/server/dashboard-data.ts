import type { DashboardData } from "../../api/dashboard/dashboard-parts.ts";
import type { LiveSource } from "../../api/live/live-source.ts";
import { createBoardSource } from "../../api/live/sources/board.ts";
import { createRunLogSource } from "../../api/live/sources/logs.ts";
import { createNeedsSource } from "../../api/live/sources/needs.ts";
import { createLoadSource, createSandboxSource } from "../../api/live/sources/sandboxes.ts";
import { createSessionSource } from "../../api/live/sources/sessions.ts";
import { Announcements } from "../../board/database/postgres-announcements.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import { readOwnIdentity } from "../../lib/process/process-identity.ts";
import type { App } from "../app.ts";
import { boardsLocation } from "../board.ts";
import { createProfileLoader } from "./data/load-profile-app.ts";
import { openBoards } from "./data/open-boards.ts";
import { openProfiles } from "./data/open-profiles.ts";
import { openSessions } from "./data/open-sessions.ts";
import { openSandboxes } from "./data/sandboxes/open-sandboxes.ts";
import { createTerminalStarter } from "./data/terminals/start-terminal.ts";
import { createHomeChanges } from "./data/watch-home.ts";

/** The data that the dashboard shows and changes, and the sources of its events. */
export interface AppDashboardData extends AsyncDisposable {
  readonly data: DashboardData;
  readonly sources: readonly LiveSource[];
}

/** Opens the data of the dashboard's routes, for all profiles of the home. */
export async function openDashboardData(
  app: App,
  log: Pick<Log, "warn">,
  signal: AbortSignal,
): Promise<AppDashboardData> {
  const identity = await readOwnIdentity(signal);
  const load = async (): Promise<App> => ({ ...app, resolved: await app.reload() });
  const { databaseUrl: url } = boardsLocation(app);
  const announcements = url === "" ? undefined : announceBoards(url, log);
  const sessions = openSessions(app);
  const boards = openBoards(app, { load, sessions, announcements, log });
  const appOf = createProfileLoader(app);
  const profiles = openProfiles(app, { appOf, sessions, log });
  const sandboxes = openSandboxes(appOf);
  const data = {
    boards,
    profiles,
    sandboxes: sandboxes.data,
    startTerminal: createTerminalStarter(app, appOf),
    changes: createHomeChanges(app, announcements),
    identity,
  };
  return {
    data,
    sources: [
      createBoardSource(boards),
      createRunLogSource(boards),
      createNeedsSource(data),
      createSessionSource(data),
      createSandboxSource(sandboxes.data),
      createLoadSource(sandboxes.data),
    ],
    async [Symbol.asyncDispose]() {
      await sandboxes[Symbol.asyncDispose]();
      await boards[Symbol.asyncDispose]();
      await sessions[Symbol.asyncDispose]();
      await announcements?.[Symbol.asyncDispose]();
    },
  };
}

function announceBoards(url: string, log: Pick<Log, "warn">): Announcements {
  return new Announcements({
    url,
    onUnknownBoard: () => undefined,
    onLost: (error) =>
      log.warn("changes of boards are not announced; polling instead", { error: messageOf(error) }),
  });
}
