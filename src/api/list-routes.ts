import { createApiRoutes } from "./api-routes.ts";
import { DASHBOARD_ROUTES } from "./dashboard/dashboard-routes.ts";

/** One route, for people. */
export interface RouteRow {
  readonly method: string;
  readonly path: string;
  /** What the request is authenticated with. */
  readonly credential: "none" | "key" | "cookie";
  /** What the key or the sign-in must be allowed to do. */
  readonly scope: string;
  readonly summary: string;
}

const NOTHING = undefined as never; // only handlers use them, and no handler is called here

/** All routes: those for browsers, then those for programs. */
export function listRoutes(): readonly RouteRow[] {
  const ofBrowsers = DASHBOARD_ROUTES.map(({ method, path, scope, summary }) => {
    const credential = scope === "none" ? ("none" as const) : ("cookie" as const);
    return { method, path, credential, scope: scope === "none" ? "–" : scope, summary };
  });
  const ofPrograms = createApiRoutes(NOTHING, NOTHING, NOTHING).map(
    ({ method, path, credential, scope }) => ({
      ...{ method, path, credential, summary: "" },
      scope: scope ?? "–",
    }),
  );
  return [...ofBrowsers, ...ofPrograms];
}
