import { expect, test } from "vitest";
import type { Session, SessionChange } from "../../../src/api/contract/sessions.ts";
import { changeList } from "./session-queries.ts";

const session = (id: string, activeAt: number, more: Partial<Session> = {}): Session => ({
  id,
  profile: "default",
  title: id,
  opening: "",
  source: "cli",
  cwd: "/work",
  model: "scripted:m",
  parent: null,
  createdAt: activeAt,
  activeAt,
  archivedAt: null,
  messages: 2,
  costUsd: 0,
  isRunning: false,
  ...more,
});

const LIST = {
  pageParams: [null],
  pages: [
    {
      sessions: [session("b", 20), session("a", 10)].map((row) => ({ ...row, hits: [] })),
      next: null,
      count: 2,
      sources: ["cli"],
      at: "e.1",
    },
  ],
};

function after(change: Partial<SessionChange>) {
  const page = changeList(LIST, { profile: "default", sessions: [], gone: [], turns: [], ...change })
    ?.pages[0];
  return { ids: page?.sessions.map(({ id }) => id), count: page?.count };
}

test("a used session moves to the top, and a new one is counted", () => {
  expect(after({ sessions: [session("a", 30, { createdAt: 10 })] })).toEqual({ ids: ["a", "b"], count: 2 });
  expect(after({ sessions: [session("c", 30)] })).toEqual({ ids: ["c", "b", "a"], count: 3 });
});

test("a deleted and an archived session leave the list, and sessions of programs do not enter it", () => {
  expect(after({ gone: ["a"] })).toEqual({ ids: ["b"], count: 1 });
  expect(after({ sessions: [session("b", 20, { archivedAt: 40 })] })).toEqual({ ids: ["a"], count: 1 });
  expect(after({ sessions: [session("w", 30, { source: "kanban" })] })).toEqual({
    ids: ["b", "a"],
    count: 2,
  });
});
