import {
  createdProfileSchema,
  newProfileSchema,
  profileEditSchema,
  profileRemovalSchema,
  profileSchema,
  removedProfileSchema,
} from "../../../contract/setup/profiles.ts";
import { type DashboardCall, type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";

const PROFILE = "/api/profiles/:profile";

const nameOf = ({ params }: Pick<DashboardCall, "params">): string => params["profile"] ?? "";

export const profileRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: PROFILE,
    scope: "read",
    summary: "Read a profile with its model, sessions and cost",
    answer: profileSchema,
    async handle(call, { data, live }) {
      const at = await live.watch("always");
      return { ...(await data.profileChanges.read(nameOf(call), call.disconnected)), at };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/profiles",
    scope: "admin",
    summary: "Create an empty profile, or copy another one",
    body: newProfileSchema,
    answer: createdProfileSchema,
    status: 201,
    async handle({ body, disconnected, audited }, { data }) {
      const created = await data.profileChanges.create(body, disconnected);
      audited(body.cloneFrom === undefined ? created.name : `${created.name} from ${body.cloneFrom}`);
      return created;
    },
  }),
  dashboardRoute({
    method: "PATCH",
    path: PROFILE,
    scope: "admin",
    summary: "Change the description or the display name of a profile",
    body: profileEditSchema,
    async handle(call, { data }) {
      await data.profileChanges.edit(nameOf(call), call.body, call.disconnected);
      return undefined;
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${PROFILE}/use`,
    scope: "admin",
    summary: "Make a profile the default of later commands",
    async handle(call, { data }) {
      await data.profileChanges.use(nameOf(call));
      return undefined;
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${PROFILE}/removal`,
    scope: "read",
    summary: "Read what deleting a profile would end and leave",
    answer: profileRemovalSchema,
    handle: (call, { data }) => data.profileChanges.previewRemoval(nameOf(call), call.disconnected),
  }),
  dashboardRoute({
    method: "DELETE",
    path: PROFILE,
    scope: "admin",
    summary: "Delete a profile and its sandboxes; its data is kept for thirty days",
    answer: removedProfileSchema,
    handle: (call, { data }) => data.profileChanges.remove(nameOf(call), call.disconnected),
  }),
];
