import type { DashboardData } from "../../api/dashboard/dashboard-parts.ts";
import type { LiveSource } from "../../api/live/live-source.ts";
import { createBoardSource } from "../../api/live/sources/board.ts";
import { createRunLogSource } from "../../api/live/sources/logs.ts";
import { createNeedsSource } from "../../api/live/sources/needs.ts";
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
import { openModels } from "./data/open-models.ts";
import { openPlatforms } from "./data/open-platforms.ts";
import { openProfileChanges } from "./data/open-profile-changes.ts";
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
  log: Pick<Log, "info" | "warn">,
  signal: AbortSignal,
): Promise<AppDashboardData> {
  const identity = await readOwnIdentity(signal);
  const load = async (): Promise<App> => ({ ...app, resolved: await app.reload() });
  const { databaseUrl: url } = boardsLocation(app);
  const announcements = url === "" ? undefined : announceBoards(url, log);
  const sessions = openSessions(app);
  const boards = openBoards(app, { load, sessions, announcements, log });
  const appOf = createAppOfProfile(app);
  const profiles = openProfiles(app, appOf, sessions, log);
  const changes = createHomeChanges(app, announcements);
  const setup = createSetupStamps(app);
  const [settings, models] = [openSettings(appOf), openModels(appOf, log)];
  const platforms = openPlatforms(appOf, log);
  const profileChanges = openProfileChanges(app, { appOf, sessions, profiles, log });
  const setupData = { setup, settings, models, platforms, profileChanges };
  const data = { boards, profiles, changes, identity, ...setupData };
  return {
    data,
    sources: [
      createBoardSource(boards),
      createRunLogSource(boards),
      createNeedsSource(data),
      createSessionSource(data),
      createSetupSource(setup),
    ],
    async [Symbol.asyncDispose]() {
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
