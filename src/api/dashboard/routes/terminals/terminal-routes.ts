import {
  newTerminalSchema,
  terminalsAnswerSchema,
  terminalTicketSchema,
} from "../../../contract/machines/terminals.ts";
import { type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";

/** Terminals. Their output and input go over the WebSocket `/api/terminals/:id?ticket=…`. */
export const terminalRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: "/api/terminals",
    scope: "shell",
    summary: "List the open terminals",
    answer: terminalsAnswerSchema,
    handle: (_, { terminals }) => ({ terminals: terminals.list() }),
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/terminals",
    scope: "shell",
    summary:
      "Open a terminal: a shell in a sandbox, a job, or the chat; answers with a ticket for its socket",
    body: newTerminalSchema,
    answer: terminalTicketSchema,
    status: 201,
    handle: ({ body, signIn }, { terminals }) => terminals.open(body, signIn?.id ?? ""),
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/terminals/:id/tickets",
    scope: "shell",
    summary: "Get a ticket to show an open terminal again",
    answer: terminalTicketSchema,
    status: 201,
    handle: ({ params, signIn }, { terminals }) =>
      terminals.issueTicket(params["id"] ?? "", signIn?.id ?? ""),
  }),
  dashboardRoute({
    method: "DELETE",
    path: "/api/terminals/:id",
    scope: "shell",
    summary: "Close a terminal, which ends its program",
    handle: async ({ params }, { terminals }) => {
      await terminals.close(params["id"] ?? "");
      return undefined;
    },
  }),
];
