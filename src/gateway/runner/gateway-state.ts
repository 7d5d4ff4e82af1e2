import type { Database } from "../../lib/sqlite/database.ts";
import type { PlatformFailureCode } from "../platform.ts";

export interface GatewayRecord {
  /** What the operator wants; only the verbs start, stop and restart write it. */
  readonly desired: "running" | "stopped";
  /** What the last gateway reported. Whether it still runs is known from its lease. */
  readonly phase: "starting" | "running" | "draining" | "stopped";
  /** Whether `gateway start` started it. */
  readonly isBackground: boolean;
  readonly hostsDispatcher: boolean;
  readonly exitReason: string | undefined;
  readonly changedAt: number;
}

/** `off`: intentionally not connected. `failed`: needs a person. */
export type LinkState = "connecting" | "connected" | "retrying" | "failed" | "off";

export interface PlatformRecord {
  readonly name: string;
  readonly state: LinkState;
  readonly code: PlatformFailureCode | undefined;
  readonly reason: string | undefined;
  /** Failed attempts in a row. */
  readonly attempts: number;
  readonly since: number;
  /** When the service was last heard. */
  readonly heardAt: number | undefined;
}

interface GatewayRow {
  readonly desired: GatewayRecord["desired"];
  readonly phase: GatewayRecord["phase"];
  readonly is_background: 0 | 1;
  readonly hosts_dispatcher: 0 | 1;
  readonly exit_reason: string | null;
  readonly changed_at: number;
}

interface PlatformRow {
  readonly name: string;
  readonly state: LinkState;
  readonly code: PlatformFailureCode | null;
  readonly reason: string | null;
  readonly attempts: number;
  readonly since: number;
  readonly heard_at: number | null;
}

/** More starts than this within the window wait, each longer than the one before. */
const STARTS_WITHOUT_WAIT = 5;
const STORM_WINDOW_MS = 120_000;
const STORM_STEP_MS = 5_000;
const LONGEST_STORM_MS = 300_000;
const KEPT_STARTS = 40;

/** What a link reports about its platform. */
export type PlatformReport = Pick<PlatformRecord, "name" | "state" | "code" | "reason" | "attempts">;

export type GatewayState = ReturnType<typeof createGatewayState>;

/** What a gateway reports about itself, for `gateway status` and the dashboard. */
export function createGatewayState(database: Database) {
  const read = database.prepare<GatewayRow>("select * from gateway where one = 1");
  const setDesired = database.prepare("update gateway set desired = ? where one = 1");
  const setPhase = database.prepare(`
    update gateway set phase = :phase, exit_reason = :exitReason, is_background = coalesce(:isBackground, is_background),
           hosts_dispatcher = coalesce(:hostsDispatcher, hosts_dispatcher), changed_at = hermes_now() where one = 1`);
  const addStart = database.prepare("insert into gateway_start (started_at) values (hermes_now())");
  const cutStarts = database.prepare(
    "delete from gateway_start where key <= (select max(key) from gateway_start) - ?",
  );
  const countStarts = database.prepare<{ count: number }>(
    "select count(*) as count from gateway_start where started_at > hermes_now() - ?",
  );
  const setPlatform = database.prepare(`
    insert into platform_state (name, state, code, reason, attempts, since)
    values (:name, :state, :code, :reason, :attempts, hermes_now())
    on conflict (name) do update set code = excluded.code, reason = excluded.reason, attempts = excluded.attempts,
      since = iif(state = excluded.state, since, excluded.since), state = excluded.state`);
  const setHeard = database.prepare("update platform_state set heard_at = hermes_now() where name = ?");
  const forget = database.prepare("delete from platform_state");
  const platforms = database.prepare<PlatformRow>("select * from platform_state order by name");

  return {
    read(): GatewayRecord {
      const row = read.get();
      if (row === undefined) throw new Error("the state of the gateway is missing");
      return {
        desired: row.desired,
        phase: row.phase,
        isBackground: row.is_background === 1,
        hostsDispatcher: row.hosts_dispatcher === 1,
        exitReason: row.exit_reason ?? undefined,
        changedAt: row.changed_at,
      };
    },
    setDesired: (desired: GatewayRecord["desired"], signal: AbortSignal): Promise<void> =>
      database.write(() => void setDesired.run(desired), signal),
    setPhase: (
      phase: GatewayRecord["phase"],
      more: {
        readonly exitReason?: string;
        readonly isBackground?: boolean;
        readonly hostsDispatcher?: boolean;
      },
      signal: AbortSignal,
    ): Promise<void> =>
      database.write(() => {
        const flag = (value: boolean | undefined): number | null =>
          value === undefined ? null : value ? 1 : 0;
        setPhase.run({
          phase,
          exitReason: more.exitReason ?? null,
          isBackground: flag(more.isBackground),
          hostsDispatcher: flag(more.hostsDispatcher),
        });
        if (phase === "starting") forget.run();
      }, signal),
    /** Records a start, and returns how long it must wait because too many came before it. */
    recordStart: (signal: AbortSignal): Promise<number> =>
      database.write(() => {
        addStart.run();
        cutStarts.run(KEPT_STARTS);
        const { count } = countStarts.get(STORM_WINDOW_MS) ?? { count: 0 };
        if (count <= STARTS_WITHOUT_WAIT) return 0;
        return Math.min(LONGEST_STORM_MS, STORM_STEP_MS * 2 ** (count - STARTS_WITHOUT_WAIT));
      }, signal),
    setPlatform: (record: PlatformReport, signal: AbortSignal): Promise<void> =>
      database.write(
        () => void setPlatform.run({ ...record, code: record.code ?? null, reason: record.reason ?? null }),
        signal,
      ),
    setHeard: (name: string, signal: AbortSignal): Promise<void> =>
      database.write(() => void setHeard.run(name), signal),
    platforms: (): readonly PlatformRecord[] =>
      platforms.all().map(({ code, reason, heard_at, ...row }) => ({
        ...row,
        code: code ?? undefined,
        reason: reason ?? undefined,
        heardAt: heard_at ?? undefined,
      })),
  };
}
