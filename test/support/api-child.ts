import { openApp } from "../../src/app/app.ts";
import { startAppApiServer } from "../../src/app/server/api-server.ts";
import { openTurnHost } from "../../src/app/server/turn-host.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { playRole, print } from "./child-role.ts";

/** Roles of other processes that serve the API in tests; started by `startChild`. */
const ROLES = {
  /** Serves the API of a home until it is killed, and reports its address. */
  async serve({ home, folder }: { home: string; folder: string }) {
    const variables = { PATH: process.env["PATH"], HOME: folder, HERMES_HOME: home };
    const app = await openApp({ profile: undefined, variables, userHome: folder });
    const onBug = (error: unknown): void => void process.stderr.write(`${String(error)}\n`);
    const host = await openTurnHost(app, { notify: () => undefined, onBug, cwd: folder }, neverAborted);
    const { url } = await startAppApiServer(app, { host, onError: onBug }, neverAborted);
    print(url);
    await new Promise(() => undefined);
  },
};

await playRole(ROLES);
