import { z } from "zod";
import {
  endSandboxSchema,
  forkSchema,
  newJobSchema,
  reclaimAnswerSchema,
  reclaimSchema,
  restoreSchema,
  sandboxActionAnswerSchema,
  sandboxListAnswerSchema,
  shownSandboxAnswerSchema,
  snapshotsAnswerSchema,
  takeSnapshotSchema,
} from "../../../contract/machines/sandboxes.ts";
import { type DashboardCall, type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import type { SandboxPlace } from "../../data/sandbox-data.ts";

const ONE = "/api/profiles/:profile/sandboxes/:name";
const SNAPSHOTS = "/api/profiles/:profile/snapshots";
/** For actions, whose answers all have the same shape. */
const ACTION = { method: "POST", scope: "shell", answer: sandboxActionAnswerSchema } as const;

const placeOf = ({ params }: Pick<DashboardCall, "params">): SandboxPlace => ({
  profile: params["profile"] ?? "",
  name: params["name"] ?? "",
});

/** The sandboxes of a profile, their jobs and their snapshots. */
export const sandboxRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: "/api/sandboxes",
    scope: "read",
    summary: "List the sandboxes of a profile, including containers of other programs",
    query: z.strictObject({ profile: z.string().optional() }),
    answer: sandboxListAnswerSchema,
    async handle({ query, disconnected }, { data, live, profile: own }) {
      const profile = query.profile ?? own;
      const list = await data.sandboxes.list(profile, disconnected); // throws if there is no such profile
      const at = await live.watch(`sandboxes:${profile}`);
      return { ...list, at };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: ONE,
    scope: "read",
    summary: "Describe a sandbox with its isolation, drift, jobs, and what would end with it",
    answer: shownSandboxAnswerSchema,
    async handle(call, { data, live }) {
      const place = placeOf(call);
      const shown = await data.sandboxes.show(place, call.disconnected);
      return { ...shown, at: await live.watch(`sandboxes:${place.profile}`) };
    },
  }),
  dashboardRoute({
    ...ACTION,
    path: `${ONE}/stop`,
    summary: "Stop a sandbox and what runs in it",
    body: endSandboxSchema,
    handle: (call, { data }) => data.sandboxes.stop(placeOf(call), call.body.ends),
  }),
  dashboardRoute({
    ...ACTION,
    path: `${ONE}/remove`,
    summary: "Remove a sandbox and what runs in it",
    body: endSandboxSchema,
    handle: (call, { data }) => data.sandboxes.remove(placeOf(call), call.body.ends),
  }),
  dashboardRoute({
    ...ACTION,
    path: `${ONE}/replace`,
    summary: "Replace a sandbox whose settings have changed; its files are saved as a snapshot",
    body: endSandboxSchema,
    handle: (call, { data }) => data.sandboxes.replace(placeOf(call), call.body.ends),
  }),
  dashboardRoute({
    ...ACTION,
    path: `${ONE}/snapshot`,
    summary: "Save the files of a sandbox as a snapshot",
    body: takeSnapshotSchema,
    handle: (call, { data }) => data.sandboxes.takeSnapshot(placeOf(call), call.body.name),
  }),
  dashboardRoute({
    ...ACTION,
    path: `${ONE}/fork`,
    summary: "Create the sandbox of another task with the same files",
    body: forkSchema,
    handle: (call, { data }) => data.sandboxes.fork(placeOf(call), call.body.task),
  }),
  dashboardRoute({
    ...ACTION,
    path: `${ONE}/jobs`,
    summary: "Start a job in a sandbox",
    body: newJobSchema,
    handle: (call, { data }) => data.sandboxes.startJob(placeOf(call), call.body),
  }),
  dashboardRoute({
    ...ACTION,
    path: `${ONE}/jobs/:job/kill`,
    summary: "Kill a job and all processes that it started",
    handle: (call, { data }) => data.sandboxes.killJob(placeOf(call), call.params["job"] ?? ""),
  }),
  dashboardRoute({
    method: "GET",
    path: SNAPSHOTS,
    scope: "read",
    summary: "List the snapshots of a profile",
    answer: snapshotsAnswerSchema,
    handle: async ({ params, disconnected }, { data }) => ({
      snapshots: [...(await data.sandboxes.snapshots(params["profile"] ?? "", disconnected))],
    }),
  }),
  dashboardRoute({
    ...ACTION,
    path: `${SNAPSHOTS}/:snapshot/restore`,
    summary: "Replace the files of a sandbox with those of a snapshot; the current files are saved first",
    body: restoreSchema,
    handle: ({ params, body }, { data }) =>
      data.sandboxes.restore(params["profile"] ?? "", params["snapshot"] ?? "", body),
  }),
  dashboardRoute({
    ...ACTION,
    path: `${SNAPSHOTS}/:snapshot/fork`,
    summary: "Create the sandbox of another task from a snapshot",
    body: forkSchema,
    handle: ({ params, body }, { data }) =>
      data.sandboxes.forkSnapshot(params["profile"] ?? "", params["snapshot"] ?? "", body.task),
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/profiles/:profile/sandbox-gc",
    scope: "shell",
    summary: "Remove or stop unused sandboxes and snapshots, or show what would be done",
    body: reclaimSchema,
    answer: reclaimAnswerSchema,
    handle: ({ params, body }, { data }) => data.sandboxes.reclaim(params["profile"] ?? "", body),
  }),
];
