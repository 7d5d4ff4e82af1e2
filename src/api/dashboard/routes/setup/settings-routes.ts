import { ApiError } from "../../../api-error.ts";
import {
  settingsAnswerSchema,
  settingsEditSchema,
  settingsSavedSchema,
  settingsYamlEditSchema,
  settingsYamlSchema,
} from "../../../contract/setup/settings.ts";
import { type DashboardCall, type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import type { SettingsOutcome } from "../../data/settings-data.ts";

const SETTINGS = "/api/profiles/:profile/settings";

export const settingsRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: SETTINGS,
    scope: "read",
    summary: "Read the settings of a profile with the origin of each value; secrets are only set or not",
    answer: settingsAnswerSchema,
    async handle({ params }, { data, live }) {
      const at = await live.watch("always");
      return { ...(await data.settings.read(params["profile"] ?? "")), at };
    },
  }),
  dashboardRoute({
    method: "PATCH",
    path: SETTINGS,
    scope: "admin",
    summary: "Change several settings in config.yaml, or remove them, if it still has the version; else 412",
    body: settingsEditSchema,
    answer: settingsSavedSchema,
    async handle(call, { data }) {
      const { params, body, disconnected } = call;
      return saved(call, await data.settings.change(params["profile"] ?? "", body, disconnected));
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${SETTINGS}/yaml`,
    scope: "read",
    summary: "Read the text of config.yaml and its problems; secrets are masked",
    answer: settingsYamlSchema,
    async handle({ params }, { data, live }) {
      const at = await live.watch("always");
      return { ...(await data.settings.readYaml(params["profile"] ?? "")), at };
    },
  }),
  dashboardRoute({
    method: "PUT",
    path: `${SETTINGS}/yaml`,
    scope: "admin",
    summary: "Replace the text of config.yaml, if it still has the version; else 412",
    body: settingsYamlEditSchema,
    answer: settingsSavedSchema,
    async handle(call, { data }) {
      const { params, body, disconnected } = call;
      return saved(call, await data.settings.replaceYaml(params["profile"] ?? "", body, disconnected));
    },
  }),
];

function saved({ audited }: Pick<DashboardCall, "audited">, result: SettingsOutcome) {
  if (result.outcome === "saved") {
    audited(result.changed.join(" "));
    return { version: result.version, changed: [...result.changed] };
  }
  if (result.outcome === "stale")
    throw new ApiError(
      412,
      "settings_stale",
      "config.yaml was changed elsewhere in the meantime, so nothing was saved.",
      undefined,
      "Compare both versions, then save again.",
    );
  const { problems } = result;
  const count = problems.length === 1 ? "One value is" : `${problems.length} values are`;
  throw new ApiError(
    400,
    "settings_invalid",
    `${count} not valid, so nothing was saved.`,
    undefined,
    undefined,
    {
      problems,
    },
  );
}
