import { describeOpenApi } from "../../api/dashboard/open-api.ts";
import { listRoutes, type RouteRow } from "../../api/list-routes.ts";
import { VERSION } from "../../version.ts";

/** Every route of the API and the dashboard as rows of a table, and the routes of the dashboard as OpenAPI. */
export function describeRoutes(): { readonly rows: readonly RouteRow[]; openApi(): object } {
  return { rows: listRoutes(), openApi: () => describeOpenApi(VERSION) };
}
