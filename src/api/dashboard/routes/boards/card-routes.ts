import { z } from "zod";
import type { CardQuery } from "../../../../board/operations/views/cards/list-cards.ts";
import { AppError } from "../../../../lib/errors.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import {
  boardEventsAnswerSchema,
  type CardsQuery,
  cardsAnswerSchema,
  cardsQuerySchema,
  diagnosticsAnswerSchema,
  dispatchedSchema,
  linksAnswerSchema,
  statusSchema,
} from "../../../contract/boards.ts";
import { type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import { toCards } from "./card-view.ts";
import { toEvents } from "./event-view.ts";
import { requireBoard } from "./require-board.ts";

const EVENTS = 100;

/** Reads that cover a whole board. */
export const cardRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: "/api/boards/:board/cards",
    scope: "read",
    summary: "Read the first cards of each column, or one more page of a column",
    query: cardsQuerySchema,
    answer: cardsAnswerSchema,
    async handle(call, parts) {
      const { query, disconnected } = call;
      const board = await requireBoard(call, parts);
      const at = await parts.live.watch(`board:${board.store.slug}`);
      const found = await board.store.cards(parseQuery(query), await board.settings(), disconnected);
      const shown = await toCards(
        board,
        found.columns.flatMap(({ cards }) => cards),
        disconnected,
      );
      const cards = new Map(shown.map((card) => [card.id, card]));
      const columns = found.columns.map((column) => ({
        ...column,
        cards: column.cards.flatMap(({ id }) => cards.get(id) ?? []),
      }));
      return { columns, event: found.lastEvent, at };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/boards/:board/links",
    scope: "read",
    summary: "Read the dependencies between tasks",
    answer: linksAnswerSchema,
    async handle(call, parts) {
      const { store } = await requireBoard(call, parts);
      const at = await parts.live.watch(`board:${store.slug}`);
      const { tasks, links, left } = await store.graph(call.disconnected);
      return { tasks: [...tasks], links: [...links], left, at };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/boards/:board/events",
    scope: "read",
    summary: "Read the events of a board after a given one, or the newest ones",
    query: z.strictObject({ after: z.coerce.number().int().min(0).optional() }),
    answer: boardEventsAnswerSchema,
    async handle(call, parts) {
      const { store } = await requireBoard(call, parts);
      const { after } = call.query;
      const events =
        after === undefined
          ? await store.lastEvents(EVENTS, call.disconnected)
          : await store.events(after, EVENTS, call.disconnected);
      return {
        events: await toEvents(store, events, call.disconnected),
        next: events.at(-1)?.id ?? after ?? 0,
      };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/boards/:board/diagnostics",
    scope: "read",
    summary: "Find problems with open tasks, and what may help",
    answer: diagnosticsAnswerSchema,
    async handle(call, parts) {
      const board = await requireBoard(call, parts);
      const at = await parts.live.watch(`board:${board.store.slug}`);
      return { findings: [...(await board.findProblems(call.disconnected))], at };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/boards/:board/dispatch",
    scope: "work",
    summary: "Run one dispatcher pass within the limits of the settings",
    answer: dispatchedSchema,
    async handle(call, parts) {
      const board = await requireBoard(call, parts);
      return { started: await board.dispatch(call.disconnected) };
    },
  }),
];

function parseQuery({ status, after, q, assignee, tenant, order }: CardsQuery): CardQuery {
  const names = (text: string): string[] => text.split(",").map((name) => name.trim());
  return withoutUndefined({
    statuses: status === undefined ? undefined : names(status).map(parseStatus),
    assignees: assignee === undefined ? undefined : names(assignee).map((name) => name || null),
    tenant,
    text: q,
    order: order === "board" ? undefined : order,
    after,
  });
}

function parseStatus(text: string) {
  const parsed = statusSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new AppError("task-input-invalid", `${JSON.stringify(text)} is not a status.`);
}
