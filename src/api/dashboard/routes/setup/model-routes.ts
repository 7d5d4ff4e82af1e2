import {
  defaultModelSchema,
  defaultModelSetSchema,
  keyEditSchema,
  keysAnswerSchema,
  keyTestSchema,
  modelsAnswerSchema,
} from "../../../contract/setup/models.ts";
import { type DashboardCall, type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";

const PROFILE = "/api/profiles/:profile";

const profileOf = ({ params }: Pick<DashboardCall, "params">): string => params["profile"] ?? "";
const variableOf = ({ params }: Pick<DashboardCall, "params">): string => params["name"] ?? "";

/** Models, and keys, which are only set, tested and removed, and never sent. */
export const modelRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: `${PROFILE}/models`,
    scope: "read",
    summary: "Read the default model and the catalogue as it is stored",
    answer: modelsAnswerSchema,
    async handle(call, { data, live }) {
      const at = await live.watch("always");
      return { ...(await data.models.models(profileOf(call), "stored", call.disconnected)), at };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${PROFILE}/models/refresh`,
    scope: "admin",
    summary: "Fetch the lists of models from the servers of the providers",
    answer: modelsAnswerSchema,
    async handle(call, { data, live }) {
      const at = await live.watch("always");
      return { ...(await data.models.models(profileOf(call), "fresh", call.disconnected)), at };
    },
  }),
  dashboardRoute({
    method: "PUT",
    path: `${PROFILE}/model`,
    scope: "admin",
    summary: "Make a model the default of the profile",
    body: defaultModelSchema,
    answer: defaultModelSetSchema,
    async handle(call, { data }) {
      const set = await data.models.setDefault(profileOf(call), call.body.model, call.disconnected);
      call.audited(`${set.provider}:${set.model}`);
      return set;
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${PROFILE}/keys`,
    scope: "read",
    summary: "List the keys of the providers by their variables, without their values",
    answer: keysAnswerSchema,
    async handle(call, { data, live }) {
      const at = await live.watch("always");
      return { ...(await data.models.keys(profileOf(call), call.disconnected)), at };
    },
  }),
  dashboardRoute({
    method: "PUT",
    path: `${PROFILE}/keys/:name`,
    scope: "admin",
    summary: "Store a key of a provider or a secret setting, by its variable",
    body: keyEditSchema,
    async handle(call, { data }) {
      await data.models.setKey(profileOf(call), variableOf(call), call.body, call.disconnected);
      return undefined;
    },
  }),
  dashboardRoute({
    method: "DELETE",
    path: `${PROFILE}/keys/:name`,
    scope: "admin",
    summary: "Remove a stored key",
    async handle(call, { data }) {
      await data.models.removeKey(profileOf(call), variableOf(call), call.disconnected);
      return undefined;
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${PROFILE}/keys/:name/test`,
    scope: "admin",
    summary: "Send one request with a key, and report whether it works",
    answer: keyTestSchema,
    handle: (call, { data }) => data.models.testKey(profileOf(call), variableOf(call), call.disconnected),
  }),
];
