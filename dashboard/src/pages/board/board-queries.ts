import { queryOptions } from "@tanstack/react-query";
import type { BoardAnswer, BoardsAnswer } from "../../../../src/api/contract/boards.ts";
import type { ShownTask, Why } from "../../../../src/api/contract/tasks.ts";
import type { Api } from "../../data/api.ts";

export const boardsQuery = (api: Api) =>
  queryOptions({ queryKey: ["boards"], queryFn: ({ signal }) => api.get<BoardsAnswer>("boards", signal) });

/** The name, limits and assignees of a board. They change rarely, so they are only read again now and then. */
export const boardQuery = (api: Api, slug: string) =>
  queryOptions({
    queryKey: ["board", slug],
    queryFn: ({ signal }) => api.get<BoardAnswer>(`boards/${encodeURIComponent(slug)}`, signal),
  });

export const taskPath = (slug: string, id: string): string =>
  `boards/${encodeURIComponent(slug)}/tasks/${encodeURIComponent(id)}`;

export const taskQuery = (api: Api, slug: string, id: string) =>
  queryOptions({
    queryKey: ["task", slug, id],
    queryFn: ({ signal }) => api.get<ShownTask>(taskPath(slug, id), signal),
  });

export const whyQuery = (api: Api, slug: string, id: string) =>
  queryOptions({
    queryKey: ["why", slug, id],
    queryFn: ({ signal }) => api.get<Why>(`${taskPath(slug, id)}/why`, signal),
  });
