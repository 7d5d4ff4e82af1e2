import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { chooseAccess } from "../../api/access/access-mode.ts";
import { type Audit, openAudit } from "../../api/access/audit.ts";
import { hashPassword } from "../../api/access/password.ts";
import { openSignInStore, type ServerRecord, type SignInStore } from "../../api/access/sign-in-store.ts";
import { DASHBOARD_SCOPES, type DashboardScope } from "../../api/contract/scopes.ts";
import { startDashboardServer } from "../../api/dashboard/dashboard-server.ts";
import { writeSecret } from "../../config/files/write-setting.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import { ensurePrivateFile } from "../../lib/files/ensure-private-file.ts";
import { ensurePrivateFolder } from "../../lib/files/files.ts";
import type { Log } from "../../lib/log/log.ts";
import { type ProcessIdentity, readOwnIdentity } from "../../lib/process/process-identity.ts";
import { createRedactor } from "../../lib/redact/redactor.ts";
import { holdLease } from "../../lib/sqlite/hold-lease.ts";
import { createLeases } from "../../lib/sqlite/lease.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { VERSION } from "../../version.ts";
import type { App } from "../app.ts";
import { openDashboardData } from "./dashboard-data.ts";

/** One dashboard serves all profiles of a home. */
const LEASE = { name: "dashboard", ttlMs: 30_000, renewEveryMs: 10_000 };

export interface DashboardRun {
  readonly log: Log;
  /** The folder of new sessions. */
  readonly cwd: string;
  /** The folder of the built pages; by default the one beside this program. */
  readonly appFolder?: string;
  /** Called once browsers can connect. */
  onReady(ready: DashboardReady): Promise<void> | void;
}

export interface DashboardReady {
  readonly url: string;
  /** A link that signs one browser in, once; undefined if only a password signs in. */
  createLink(): Promise<string | undefined>;
  /** Whether everybody who reaches the dashboard may read it. */
  readonly isInsecure: boolean;
}

/** Where another process of this home serves the dashboard. */
export interface RunningDashboard extends ServerRecord {
  readonly process: ProcessIdentity;
}

/**
 * Serves the dashboard of a home until `stop` aborts. If another process already serves it, returns where.
 * Throws `dashboard-exposed` if the settings would let strangers in.
 */
export async function runAppDashboard(
  app: App,
  run: DashboardRun,
  stop: AbortSignal,
): Promise<RunningDashboard | undefined> {
  const { profile, resolved } = app;
  const { dashboard: options } = resolved.config;
  const access = await chooseAccess(options);
  using signIns = await openAppSignIns(app, stop);
  const identity = await readOwnIdentity(stop);
  const held = await holdLease(
    signIns.database,
    { ...LEASE, identity, clock: systemClock },
    async (lost) => {
      using audit = openAppAudit(app);
      await using opened = await openDashboardData(app, run, stop);
      await using server = await startDashboardServer({
        ...{ options, signIns, access, audit, data: opened.data, sources: opened.sources },
        appFolder: run.appFolder ?? ownAppFolder(),
        version: VERSION,
        profile: profile.name,
        clock: systemClock,
        onError: (error) => run.log.error("the dashboard met an error", { error: messageOf(error) }),
      });
      const record = { url: server.url, takesLinks: access.ways.includes("link") };
      await signIns.writeServer(record, stop);
      await run.onReady({
        url: server.url,
        createLink: () => createLink(signIns, record, DASHBOARD_SCOPES, stop),
        isInsecure: access.isInsecure,
      });
      const ending = AbortSignal.any([stop, lost]);
      await new Promise<void>((resolve) => {
        if (ending.aborted) resolve();
        else ending.addEventListener("abort", () => resolve(), { once: true });
      });
      if (lost.aborted && !stop.aborted)
        throw new AppError("dashboard-replaced", "Another process of this home serves the dashboard now.");
    },
    stop,
  );
  if ("result" in held) return undefined;
  const { url = "", takesLinks = false } = signIns.readServer() ?? {};
  return { url, takesLinks, process: held.heldBy };
}

/** Manages the sign-ins of a dashboard, whether or not it is running. */
export interface DashboardAccess extends Disposable {
  findServer(signal: AbortSignal): Promise<RunningDashboard | undefined>;
  /** A link that signs one browser in; undefined if the running dashboard takes none. */
  createLink(
    server: RunningDashboard,
    scopes: readonly DashboardScope[],
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** Stores the hash of the password that signs in, and signs everybody out. */
  setPassword(password: string, signal: AbortSignal): Promise<void>;
  /** Ends all sign-ins and unused links; returns the number of sign-ins. */
  signOutAll(signal: AbortSignal): Promise<number>;
}

export async function openDashboardAccess(app: App, signal: AbortSignal): Promise<DashboardAccess> {
  const signIns = await openAppSignIns(app, signal);
  const leases = createLeases(signIns.database);
  const audit = openAppAudit(app);
  const record = (action: string, detail?: string): void =>
    audit.write({ action, outcome: "done", address: "command line", ...(detail && { detail }) });
  return {
    async findServer(within) {
      const process = await leases.findHolder(LEASE.name, within);
      const server = signIns.readServer();
      return process && server && { ...server, process };
    },
    async createLink(server, scopes, within) {
      const link = await createLink(signIns, server, scopes, within);
      if (link !== undefined) record("link", scopes.join(" "));
      return link;
    },
    async setPassword(password, within) {
      const { envPath, home } = app.profile;
      const hash = await hashPassword(password);
      await writeSecret(envPath, home, PASSWORD_VARIABLE, hash, within);
      await signIns.signOutAll(within);
      record("password");
    },
    async signOutAll(within) {
      const count = await signIns.signOutAll(within);
      record("sign-out", "all");
      return count;
    },
    [Symbol.dispose]() {
      signIns[Symbol.dispose]();
      audit[Symbol.dispose]();
    },
  };
}

const PASSWORD_VARIABLE = "HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_HASH";

/** Browsers do not send the part after `#`, so no log of a server or proxy contains the code. */
async function createLink(
  signIns: SignInStore,
  { url, takesLinks }: ServerRecord,
  scopes: readonly DashboardScope[],
  signal: AbortSignal,
): Promise<string | undefined> {
  return takesLinks ? `${url}/enter#${await signIns.createCode(scopes, signal)}` : undefined;
}

async function openAppSignIns({ profile }: App, signal: AbortSignal): Promise<SignInStore> {
  const path = join(profile.root, "dashboard.sqlite");
  await ensurePrivateFolder(profile.root);
  await ensurePrivateFile(path);
  return await openSignInStore(path, systemClock, signal);
}

/** The log of what people do in the dashboard, in the root home like its sign-ins. */
function openAppAudit({ profile, resolved }: App): Audit {
  const { max_size_mb, backup_count } = resolved.config.logging;
  return openAudit({
    folder: join(profile.root, "logs"),
    redactor: createRedactor({ secrets: resolved.secrets }),
    clock: systemClock,
    maxSizeBytes: max_size_mb * 1024 * 1024,
    backupCount: backup_count,
  });
}

/** The build puts the pages beside the program. */
function ownAppFolder(): string {
  return join(dirname(realpathSync(process.argv[1] ?? ".")), "dashboard");
}
