import { randomBytes } from "node:crypto";
import type { Locator, Page } from "playwright-core";
import type { Dashboard } from "./dashboard-browser.ts";

export interface BoardTask {
  readonly id: string;
  readonly seq: number;
  readonly title: string;
  readonly body: string | null;
  readonly status: string;
}

/** A new board, or the named one, on a dashboard that tests share, with commands that change it from another process. */
export async function openTestBoard(dashboard: Dashboard, named?: "default") {
  const { home } = dashboard;
  const slug = named ?? `b${randomBytes(4).toString("hex")}`;
  const run = async (...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await home.hermes(["kanban", ...args]);
    if (exitCode !== 0) throw new Error(stderr);
    return stdout;
  };
  if (named === undefined) await run("boards", "create", slug);
  const kanban = (...args: string[]): Promise<string> => run("--board", slug, ...args);
  const show = async (id: string): Promise<Record<string, unknown> & { readonly task: BoardTask }> =>
    JSON.parse(await kanban("show", id, "--json"));
  return {
    ...{ slug, path: `/board/${slug}`, kanban, show },
    create: async (title: string, ...args: string[]): Promise<BoardTask> =>
      JSON.parse(await kanban("create", title, ...args, "--json")) as BoardTask,
    statusOf: async (id: string): Promise<string> => (await show(id)).task.status,
    /** Opens the board in the page that tests share. */
    open: async (search = ""): Promise<Page> => whenShown(await dashboard.tab(`/board/${slug}${search}`)),
    /** Opens the board in another browser. */
    openElsewhere: async (search = "", look: Parameters<Dashboard["page"]>[1] = {}): Promise<Page> =>
      whenShown(await dashboard.page(`/board/${slug}${search}`, look)),
  };
}

/** Waits until the cards of a board, or the note that it is empty, are shown. */
export async function whenShown(page: Page): Promise<Page> {
  await page.locator("section[data-status], table").first().waitFor();
  return page;
}

export type TestBoard = Awaited<ReturnType<typeof openTestBoard>>;

export const columnOf = (page: Page, status: string): Locator =>
  page.locator(`section[data-status="${status}"]`);
export const cardOf = (page: Page, title: string): Locator =>
  page.locator("[data-card]").filter({ hasText: title });
