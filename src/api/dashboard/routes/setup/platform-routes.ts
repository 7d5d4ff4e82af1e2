import {
  approvedPairingSchema,
  approvePairingSchema,
  platformsAnswerSchema,
  revokePairingSchema,
} from "../../../contract/setup/platforms.ts";
import { type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";

const PROFILE = "/api/profiles/:profile";

export const platformRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: `${PROFILE}/platforms`,
    scope: "read",
    summary: "Read the platforms, the state of their connections, and who waits to be let in",
    answer: platformsAnswerSchema,
    async handle({ params, disconnected }, { data, live }) {
      const at = await live.watch("always");
      return { ...(await data.platforms.read(params["profile"] ?? "", disconnected)), at };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${PROFILE}/pairing/:platform/approve`,
    scope: "admin",
    summary: "Let a person in, by the id of the request or by the code that the person has",
    body: approvePairingSchema,
    answer: approvedPairingSchema,
    async handle({ params, body, disconnected, audited }, { data }) {
      const { profile = "", platform = "" } = params;
      const person = await data.platforms.approve(profile, platform, body.code, disconnected);
      audited(person.userId);
      return person;
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${PROFILE}/pairing/:platform/revoke`,
    scope: "admin",
    summary: "End the access of a person immediately",
    body: revokePairingSchema,
    async handle({ params, body, disconnected, audited }, { data }) {
      const { profile = "", platform = "" } = params;
      await data.platforms.revoke(profile, platform, body.userId, disconnected);
      audited(body.userId);
      return undefined;
    },
  }),
];
