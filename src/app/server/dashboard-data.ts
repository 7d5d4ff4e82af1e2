import type { DashboardData } from "../../api/dashboard/dashboard-parts.ts";
import type { LiveSource } from "../../api/live/source.ts";
import type { App } from "../app.ts";

/** What the pages of the dashboard show and change, and the sources of their events. */
export interface AppDashboardData extends AsyncDisposable {
  readonly data: DashboardData;
  readonly sources: readonly LiveSource[];
}

/** Opens what the routes of the dashboard read, for all profiles of the home. */
export async function openDashboardData(_app: App, _signal: AbortSignal): Promise<AppDashboardData> {
  return { data: {}, sources: [], [Symbol.asyncDispose]: async () => undefined };
}
