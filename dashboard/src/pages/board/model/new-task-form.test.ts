import { expect, test } from "vitest";
import { newTaskOf, parseForm } from "./new-task-form.ts";

test("an empty form sends only a title", () => {
  expect(newTaskOf({ ...parseForm(undefined), title: " Fix it " })).toEqual({ title: "Fix it" });
});

test("every control of the form ends in the request", () => {
  const form = parseForm(
    JSON.stringify({
      title: "T",
      body: "B",
      assignee: "coder",
      priority: "2",
      parents: [{ id: "t_1", seq: 1, title: "P" }],
      start: "at",
      at: "2026-12-01T09:30",
      tenant: "acme",
      model: "m",
      provider: "p",
      effort: "high",
      workspace: "worktree",
      path: "/src/shop",
      branch: "fix",
      skills: "one, two,,",
      runtime: "30",
      retries: "2",
    }),
  );
  expect(newTaskOf(form)).toEqual({
    title: "T",
    body: "B",
    assignee: "coder",
    priority: 2,
    parents: ["t_1"],
    scheduledAt: new Date(2026, 11, 1, 9, 30).getTime(),
    tenant: "acme",
    model: "m",
    provider: "p",
    reasoningEffort: "high",
    workspaceKind: "worktree",
    workspacePath: "/src/shop",
    branch: "fix",
    skills: ["one", "two"],
    maxRuntimeSeconds: 1_800,
    maxRetries: 2,
  });
  expect(newTaskOf({ ...form, start: "hold" })).toMatchObject({ hold: true });
  expect(newTaskOf({ ...form, start: "triage" })).toMatchObject({ triage: true });
  expect(newTaskOf({ ...form, workspace: "scratch" })).not.toHaveProperty("workspacePath");
});

test("a broken draft is an empty form", () => {
  expect(parseForm("{")).toEqual(parseForm(undefined));
});
