import type { DashboardData } from "../../api/dashboard/dashboard-parts.ts";
import type { LiveSource } from "../../api/live/live-source.ts";
import { createBoardSource } from "../../api/live/sources/board.ts";
import { createChatSource, createTurnSource } from "../../api/live/sources/chats.ts";
import { createLogSource } from "../../api/live/sources/logs.ts";
import { createNeedsSource } from "../../api/live/sources/needs.ts";
import { createRunLogSource } from "../../api/live/sources/run-logs.ts";
import { createSessionSource } from "../../api/live/sources/sessions.ts";
import { createSetupSource } from "../../api/live/sources/setup.ts";
import { Announcements } from "../../board/database/postgres-announcements.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import { readOwnIdentity } from "../../lib/process/process-identity.ts";
import type { App } from "../app.ts";
import { boardsLocation } from "../board.ts";
import { createAppOfProfile } from "./data/app-of-profile.ts";
import { openBoards } from "./data/open-boards.ts";
import { openChats } from "./data/open-chats.ts";
import { openProfiles } from "./data/open-profiles.ts";
import { openSessions } from "./data/open-sessions.ts";
import { openSettings } from "./data/open-settings.ts";
import { createSetupStamps } from "./data/read-setup-stamps.ts";
import { createHomeChanges } from "./data/watch-home.ts";

/** The data that the dashboard shows and changes, and the sources of its events. */
export interface AppDashboardData extends AsyncDisposable {
  readonly data: DashboardData;
  readonly sources: readonly LiveSource[];
}

/** Opens the data of the dashboard's routes, for all profiles of the home. */
export async function openDashboardData(
  app: App,
  { log, cwd }: { readonly log: Pick<Log, "info" | "warn" | "error">; readonly cwd: string },
  signal: AbortSignal,
): Promise<AppDashboardData> {
  const identity = await readOwnIdentity(signal);
  const load = async (): Promise<App> => ({ ...app, resolved: await app.reload() });
  const { databaseUrl: url } = boardsLocation(app);
  const announcements = url === "" ? undefined : announceBoards(url, log);
  const sessions = openSessions(app);
  const boards = openBoards(app, { load, sessions, announcements, log });
  const appOf = createAppOfProfile(app);
  const profiles = openProfiles(app, { sessions, appOf, log, cwd });
  const hosted = openChats({ appOf, sessions, log, cwd });
  const { chats } = hosted;
  const changes = createHomeChanges(app, announcements);
  const setup = createSetupStamps(app);
  const data = { boards, profiles, chats, changes, identity, setup, settings: openSettings(appOf) };
  return {
    data,
    sources: [
      createBoardSource(boards),
      createRunLogSource(boards),
      createLogSource(profiles),
      createNeedsSource(data),
      createSessionSource(data),
      createChatSource(chats),
      createTurnSource(chats),
      createSetupSource(setup),
    ],
    async [Symbol.asyncDispose]() {
      await hosted[Symbol.asyncDispose]();
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
