import { expect, test } from "vitest";
import type { ClaimedTask } from "../operations/runs/claim.ts";
import { workerVariables } from "./worker-variables.ts";

const dispatcherVariables = {
  PATH: "/bin",
  HOME: "/h",
  OPENAI_API_KEY: "key",
  TERMINAL_ENV: "docker",
  HERMES_TUI: "1",
  HERMES_KANBAN_TASK: "t_other",
  HERMES_TELEGRAM_CHAT: "c",
  NODE_OPTIONS: "--require /x.js",
};

function variablesFor(name: string) {
  const claimed = {
    task: { id: "t_1", tenant: "acme" },
    run: { id: 7 },
    token: "secret-token",
  } as unknown as ClaimedTask;
  return workerVariables({
    location: { root: "/r", databaseUrl: "postgres://u:pw@h/db", slug: "b" },
    board: "0b",
    claimed,
    workspace: { kind: "worktree", path: "/w", branch: "wt/t_1" },
    workspacesRoot: "/ws",
    profile: { name, home: `/r/profiles/${name}` },
    variables: dispatcherVariables,
    dispatchedBy: "boss",
  });
}

test("board C2, G41: a worker of another profile gets the machine's variables and its own, and no others", () => {
  expect(Object.keys(variablesFor("coder")).toSorted()).toEqual([
    "HERMES_HOME",
    "HERMES_KANBAN_BOARD",
    "HERMES_KANBAN_BRANCH",
    "HERMES_KANBAN_HOME",
    "HERMES_KANBAN_MARK",
    "HERMES_KANBAN_RUN_ID",
    "HERMES_KANBAN_TASK",
    "HERMES_KANBAN_WORKSPACE",
    "HERMES_KANBAN_WORKSPACES_ROOT",
    "HERMES_PROFILE",
    "HERMES_SESSION_SOURCE",
    "HERMES_TENANT",
    "HOME",
    "PATH",
  ]);
});

test("board C2, G41: a worker of the dispatcher's own profile inherits its keys and settings, but not the variables that describe the dispatcher", () => {
  const own = variablesFor("boss");
  expect(own).toMatchObject({ OPENAI_API_KEY: "key", TERMINAL_ENV: "docker", HERMES_KANBAN_TASK: "t_1" });
  expect(own).not.toHaveProperty("HERMES_TUI");
  expect(own).not.toHaveProperty("NODE_OPTIONS");
});

test("neither the token nor the password of the database is in a variable", () => {
  const text = JSON.stringify([variablesFor("coder"), variablesFor("boss")]);
  expect(text).not.toContain("secret-token");
  expect(text).not.toContain("pw@");
});
