import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { describeShutdown } from "../../gateway/diagnostics/describe-shutdown.ts";
import { startLoopWatchdog } from "../../gateway/diagnostics/loop-watchdog.ts";
import { loadHooks } from "../../gateway/hooks/hooks.ts";
import { createTrustedHooks } from "../../gateway/hooks/trusted-hooks.ts";
import { openConfiguredPlatforms } from "../../gateway/platforms/configured-platforms.ts";
import { holdGatewayLease } from "../../gateway/runner/gateway-lease.ts";
import { createGatewayState } from "../../gateway/runner/gateway-state.ts";
import {
  type ConfiguredPlatform,
  type GatewayEnd,
  type GatewayService,
  runGateway,
} from "../../gateway/runner/run-gateway.ts";
import { openGatewayDatabase } from "../../gateway/store/gateway-database.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import { readOwnIdentity } from "../../lib/process/process-identity.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { waitAtMost } from "../../lib/time/wait-at-most.ts";
import type { TurnHost } from "../../turns/turn-host.ts";
import type { App } from "../app.ts";
import { openAppSessions } from "../approvals.ts";
import { turnLimits } from "../conversation.ts";
import { dispatchAllBoards } from "../dispatch-all-boards.ts";
import type { AppApiServer } from "./api-server.ts";
import { sendBoardNotices } from "./board-notices.ts";
import type { DashboardReady } from "./dashboard.ts";
import { openTurnHost } from "./turn-host.ts";

const WATCHDOG_CHECK_MS = 15_000;
const WATCHDOG_MIN_CHECKS = 4;
/** The time to end after the running turns have ended or their time is over. */
const END_GRACE_MS = 70_000;

/** How long the hooks of the last events may keep running when the gateway ends. */
const HOOKS_WITHIN_MS = 5_000;

export interface GatewayRun {
  readonly log: Log;
  readonly cwd: string;
  /** Whether `gateway start` started this process. */
  readonly isBackground: boolean;
  notify(text: string): void;
  /** Called once everything is set up. */
  onReady(ready: GatewayReady): void;
}

export interface GatewayReady {
  readonly platforms: readonly ConfiguredPlatform[];
  readonly services: readonly string[];
  readonly api: { readonly url: string; readonly isKeyNew: boolean } | undefined;
}

/**
 * Runs the gateway of a profile until `stop` or `restart` aborts; `restart` means that the process will be started again.
 * Throws `gateway-running` if another process is the gateway.
 */
export async function runAppGateway(
  app: App,
  run: GatewayRun,
  { stop, restart }: { readonly stop: AbortSignal; readonly restart: AbortSignal },
): Promise<GatewayEnd> {
  const { profile, resolved } = app;
  const { log, notify } = run;
  const work = new AbortController(); // never aborted: running turns get time to end
  setMaxListeners(0, work.signal, restart);
  using database = await openGatewayDatabase(profile.gatewayPath, systemClock, stop);
  const identity = await readOwnIdentity(stop);
  const state = createGatewayState(database);
  return await holdGatewayLease(
    database,
    identity,
    systemClock,
    async (lost, lastRenewal) => {
      const before = state.read();
      const lastSeen = Math.max(lastRenewal ?? 0, before.phase === "stopped" ? before.changedAt : 0);
      const waitMs = await state.recordStart(stop);
      if (waitMs > 0) {
        notify(`the gateway was started too often; waiting ${waitMs / 1_000} s.`);
        await systemClock.sleep(waitMs, stop);
      }
      const ending = AbortSignal.any([stop, restart, lost]);
      const { drain_timeout_seconds: drainSeconds, watchdog_seconds: watchdogSeconds } =
        resolved.config.gateway;
      await using watchdog =
        watchdogSeconds === 0
          ? undefined
          : startLoopWatchdog({
              limitMs: watchdogSeconds * 1_000,
              checkEveryMs: Math.min(WATCHDOG_CHECK_MS, (watchdogSeconds * 1_000) / WATCHDOG_MIN_CHECKS),
              report: join(profile.logsFolder, "gateway-stall.log"),
            });
      ending.addEventListener(
        "abort",
        () => {
          watchdog?.endWithin(drainSeconds * 1_000 + END_GRACE_MS);
          const why = lost.aborted
            ? "the lease was lost"
            : restart.aborted
              ? "a restart was requested"
              : stop.reason;
          log.info("the gateway is asked to end", describeShutdown(why));
        },
        { once: true },
      );
      using sessions = await openAppSessions(app, stop);
      await using turns = await openTurnHost(
        app,
        {
          notify: (text) => log.info(text),
          onBug: (error) => log.error("a turn met a bug", { error: messageOf(error) }),
          cwd: run.cwd,
        },
        work.signal,
      );
      const platforms = await openConfiguredPlatforms(resolved.config.platforms, {
        clock: systemClock,
        log,
        variables: app.variables,
        variable: resolved.variable,
        maxAttachmentBytes: resolved.config.gateway.max_attachment_mb * 1024 * 1024,
      });
      await using api = await openGatewayApi(
        app,
        { turns, log, notify, isAlone: platforms.length === 0 },
        stop,
      );
      const services = createServices(app, run);
      await state.setPhase(
        "starting",
        { isBackground: run.isBackground, hostsDispatcher: resolved.config.kanban.dispatch_in_gateway },
        stop,
      );
      run.onReady({ platforms, services: services.map(({ name }) => name), api });
      const hooks = await loadHooks(
        {
          folder: join(profile.home, "hooks"),
          trusted: createTrustedHooks(database),
          variables: hookVariables(app),
          log,
        },
        work.signal,
      );
      try {
        await runGateway(
          {
            ...{ database, platforms, turns, log, services, notify },
            limits: turnLimits(app, {}),
            rules: resolved.config.gateway,
            hooks,
            resetOptions: resolved.config.session_reset,
            titleOf: (id) => {
              const found = sessions.list.find(id);
              return found && (found.title ?? found.id);
            },
            streaming: resolved.config.streaming,
            footer: resolved.config.display.runtime_footer,
            cwd: run.cwd.replace(app.userHome, "~"),
            downMs: lastSeen === 0 ? 0 : systemClock.now() - lastSeen,
            pairCommand: (platform, code) =>
              `hermes ${profile.name === "default" ? "" : `-p ${profile.name} `}pairing approve ${platform} ${code}`,
            home: profile.home,
            cache: join(profile.home, "cache", "inbound"),
            outgoing: join(profile.home, "cache", "outbound"),
            clock: systemClock,
            random: Math.random,
            findTurn: (id) => sessions.findTurn(id, 0),
          },
          ending,
        );
      } finally {
        await waitAtMost(HOOKS_WITHIN_MS, hooks.waitUntilIdle());
        const exitReason = lost.aborted ? "the lease was lost" : restart.aborted ? "restart" : "stop";
        // On a full disk the phase is not updated; only the lease shows reliably whether the gateway runs.
        await state.setPhase("stopped", { exitReason }, work.signal).catch(() => undefined);
      }
      const isGone = lost.reason instanceof AppError && lost.reason.code === "home-gone";
      if (isGone) notify(`the home was removed, and the gateway has ended: ${lost.reason.message}`);
      return restart.aborted || (lost.aborted && !isGone) ? "restart" : "stopped";
    },
    stop,
  );
}

/**
 * Serves the API with the turns of the gateway if the settings enable it, or if there is no platform. A port that is already in
 * use is an error only if the settings enable the API.
 */
async function openGatewayApi(
  app: App,
  parts: {
    readonly turns: TurnHost;
    readonly log: Log;
    notify(text: string): void;
    readonly isAlone: boolean;
  },
  signal: AbortSignal,
): Promise<AppApiServer | undefined> {
  const { enabled } = app.resolved.config.api_server;
  if (!(enabled ?? parts.isAlone)) return undefined;
  const { startAppApiServer } = await import("./api-server.ts");
  const onError = (error: unknown): void =>
    parts.log.error("the API met an error", { error: messageOf(error) });
  try {
    return await startAppApiServer(app, { host: parts.turns, onError }, signal);
  } catch (error) {
    if (enabled || !(error instanceof AppError) || error.code !== "api-port-taken") throw error;
    parts.notify(`the API is not served: ${error.message} ${error.hint}`);
    return undefined;
  }
}

/** The services that the gateway runs besides its platforms and the API. */
function createServices(
  app: App,
  { log, notify, cwd }: Pick<GatewayRun, "log" | "notify" | "cwd">,
): readonly GatewayService[] {
  const dashboard: GatewayService = {
    name: "the dashboard",
    async run(signal) {
      const { runAppDashboard } = await import("./dashboard.ts");
      const onReady = ({ url, isInsecure }: DashboardReady): void => {
        log.info("the dashboard is served", { url, insecure: isInsecure });
        notify(`the dashboard is at ${url}; open it with \`hermes dashboard link\`.`);
        if (isInsecure) notify("warning: everybody who reaches the dashboard can read all of it.");
      };
      const running = await runAppDashboard(app, { log, cwd, onReady }, signal).catch((error: unknown) => {
        if (error instanceof AppError) notify(`the dashboard is not served: ${error.message} ${error.hint}`);
        throw error;
      });
      if (running !== undefined)
        notify(`the dashboard of this home is already served by process ${running.process.pid}.`);
    },
  };
  const dispatcher: GatewayService = {
    name: "dispatcher",
    run(signal, say) {
      let notices = Promise.resolve();
      return dispatchAllBoards(
        app,
        {
          log,
          reload: async () => ({ ...app, resolved: await app.reload() }),
          settled: () => notices,
          onPass({ board }, store) {
            if (store === undefined) return;
            notices = notices
              .then(() => sendBoardNotices(store, { profile: app.profile.name, say }, signal))
              .catch((error: unknown) => {
                if (!signal.aborted)
                  log.warn("chats could not be told about tasks", { board, error: messageOf(error) });
              });
          },
          onIdle: (report) =>
            log.warn("no task is started although tasks are ready", { board: report.board }),
          onFailure: (board, error) =>
            log.error("a board could not be dispatched", { board, error: messageOf(error) }),
        },
        signal,
      );
    },
  };
  const { kanban, dashboard: dashboardOptions } = app.resolved.config;
  return [
    ...(kanban.dispatch_in_gateway ? [dispatcher] : []),
    ...(dashboardOptions.enabled ? [dashboard] : []),
  ];
}

/** The variables that programs of hooks need. They contain no secrets. */
function hookVariables({ profile, variables }: App): Readonly<Record<string, string | undefined>> {
  const kept = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "TMPDIR"].map((name) => [
    name,
    variables[name],
  ]);
  return { ...Object.fromEntries(kept), HERMES_HOME: profile.home };
}
