import { AppError } from "../../../../lib/errors.ts";
import { ApiError } from "../../../api-error.ts";
import {
  chatChoicesSchema,
  liveTurnSchema,
  newMessageSchema,
  queueChangeSchema,
  sentMessageSchema,
  sessionChatSchema,
  steerSchema,
} from "../../../contract/chat.ts";
import { type DashboardCall, type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";

const PROFILE = "/api/profiles/:profile";

/** Routes to chat: each message starts a turn, which the server owns and which goes on without a page. */
export const chatRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: `${PROFILE}/chat`,
    scope: "read",
    summary: "Read the models and modes that a message can be answered with",
    answer: chatChoicesSchema,
    handle: ({ params, disconnected }, { data }) =>
      data.profiles.chatChoices(params["profile"] ?? "", disconnected),
  }),
  dashboardRoute({
    method: "GET",
    path: `${PROFILE}/sessions/:id/chat`,
    scope: "read",
    summary: "Read the running turn and the queued messages of a session",
    answer: sessionChatSchema,
    async handle(call, { data, live }) {
      const at = await live.watch("always");
      const { profile, session } = namesOf(call);
      return { ...(await data.chats.read(profile, session)), at };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${PROFILE}/turns`,
    scope: "work",
    summary: "Send a message to a session, or begin a session with it; a busy session queues it",
    body: newMessageSchema,
    answer: sentMessageSchema,
    status: 202,
    async handle(call, { data }) {
      const { body, signIn, disconnected } = call;
      const { profile } = namesOf(call);
      if (body.mode === "off" && !signIn?.scopes.includes("admin"))
        throw new ApiError(
          403,
          "scope_missing",
          "In this mode nothing is asked any more, which needs the scope admin.",
        );
      const store = await data.profiles.sessions(profile);
      if (body.session !== undefined && store.list.find(body.session) === undefined)
        throw new AppError("session-not-found", `There is no session ${JSON.stringify(body.session)}.`);
      return await data.chats.send(profile, body, disconnected);
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${PROFILE}/sessions/:id/queue`,
    scope: "work",
    summary: "Send the held messages of a session, or take a queued one back",
    body: queueChangeSchema,
    async handle(call, { data }) {
      const { profile, session } = namesOf(call);
      if (call.body.change === "send") await data.chats.release(profile, session);
      else data.chats.remove(profile, session, call.body.id);
      return undefined;
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/turns/:turn",
    scope: "read",
    summary: "Read a turn of this server as it is now",
    answer: liveTurnSchema,
    handle({ params }, { data }) {
      const turn = data.chats.find(params["turn"] ?? "");
      if (turn !== undefined) return turn.shown.read();
      throw new AppError("turn-not-found", "This server does not run that turn.");
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/turns/:turn/stop",
    scope: "work",
    summary: "Stop a turn of this server, with its tools and their processes",
    handle({ params }, { data }) {
      data.chats.stop(params["turn"] ?? "");
      return undefined;
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/turns/:turn/steer",
    scope: "work",
    summary: "Give a running turn a note, which the model reads after its current step",
    body: steerSchema,
    handle({ params, body }, { data }) {
      data.chats.steer(params["turn"] ?? "", body.text);
      return undefined;
    },
  }),
];

function namesOf({ params }: Pick<DashboardCall, "params">): {
  readonly profile: string;
  readonly session: string;
} {
  return { profile: params["profile"] ?? "", session: params["id"] ?? "" };
}
