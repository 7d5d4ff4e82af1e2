import type { DashboardData } from "../../api/dashboard/dashboard-parts.ts";
import type { LiveSource } from "../../api/live/live-source.ts";
import { createBoardSource } from "../../api/live/sources/board.ts";
import { createChatSource, createTurnSource } from "../../api/live/sources/chats.ts";
import { createLogSource } from "../../api/live/sources/logs.ts";
import { createNeedsSource } from "../../api/live/sources/needs.ts";
import { createRunLogSource } from "../../api/live/sources/run-logs.ts";
import { createLoadSource, createSandboxSource } from "../../api/live/sources/sandboxes.ts";
import { createSessionSource } from "../../api/live/sources/sessions.ts";
import { createSetupSource } from "../../api/live/sources/setup.ts";
import { Announcements } from "../../board/database/postgres-announcements.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import { readOwnIdentity } from "../../lib/process/process-identity.ts";
import type { App } from "../app.ts";
import { boardsLocation } from "../board.ts";
import { createLoadProfile } from "./data/load-profile.ts";
import { openBoards } from "./data/open-boards.ts";
import { openChats } from "./data/open-chats.ts";
import { openProfiles } from "./data/open-profiles.ts";
import { openSessions } from "./data/open-sessions.ts";
import { openSettings } from "./data/open-settings.ts";
import { createSetupStamps } from "./data/read-setup-stamps.ts";
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
  { log, cwd }: { readonly log: Pick<Log, "info" | "warn" | "error">; readonly cwd: string },
  signal: AbortSignal,
): Promise<AppDashboardData> {
  const identity = await readOwnIdentity(signal);
  const load = async (): Promise<App> => ({ ...app, resolved: await app.reload() });
  const { databaseUrl: url } = boardsLocation(app);
  const announcements = url === "" ? undefined : announceBoards(url, log);
  const sessions = openSessions(app);
  const boards = openBoards(app, { load, sessions, announcements, log });
  const loadProfile = createLoadProfile(app);
  const profiles = openProfiles(app, { sessions, load: loadProfile, log, cwd });
  const changes = createHomeChanges(app, announcements);
  const setup = createSetupStamps(app);
  const hosted = openChats({ load: loadProfile, sessions, log, cwd });
  const { chats } = hosted;
  const settings = openSettings(loadProfile);
  const sandboxes = openSandboxes(loadProfile);
  const data = {
    ...{ boards, profiles, chats, changes, identity, setup, settings },
    sandboxes: sandboxes.data,
    startTerminal: createTerminalStarter(app, loadProfile),
  };
  return {
    data,
    sources: [
      createBoardSource(boards),
      createRunLogSource(boards),
      createLogSource(profiles),
      createNeedsSource(data),
      createSessionSource(data),
      createSetupSource(setup),
      createChatSource(chats),
      createTurnSource(chats),
      createSandboxSource(sandboxes.data),
      createLoadSource(sandboxes.data),
    ],
    async [Symbol.asyncDispose]() {
      await hosted[Symbol.asyncDispose]();
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
