import { access } from "node:fs/promises";
import { expect, test } from "vitest";
import { openDashboardHome } from "../../../../../test/support/dashboard-home.ts";
import { openPairing } from "../../../../../test/support/pairing.ts";
import { platformsAnswerSchema } from "../../../contract/setup/platforms.ts";
import {
  profileRemovalSchema,
  profileSchema,
  removedProfileSchema,
} from "../../../contract/setup/profiles.ts";
import { createdTaskSchema } from "../../../contract/tasks.ts";

test("a profile is created, described, made the active one and deleted with what still names it", async () => {
  await using home = await openDashboardHome({ kanban: { default_assignee: "writer" } });
  const json = { name: "writer", description: "writes", cloneFrom: "coder" };
  expect((await home.send("POST", "profiles", { json })).status).toBe(201);
  expect((await home.send("POST", "profiles", { json })).status).toBe(409);
  expect((await home.send("POST", "profiles", { json: { name: "No!" } })).status).toBe(400);
  expect((await home.send("PATCH", "profiles/writer", { json: { displayName: "Wren" } })).status).toBe(204);
  expect((await home.send("POST", "profiles/writer/use", { json: {} })).status).toBe(204);
  expect(await home.ask(profileSchema, "GET", "profiles/writer")).toMatchObject({
    ...{ description: "writes", displayName: "Wren", isActive: true, protectedBecause: null },
    ...{ sessions: 0, hasGateway: false },
  });
  const task = { title: "Write", assignee: "writer" };
  await home.ask(createdTaskSchema, "POST", "boards/default/tasks", { json: task });
  expect(await home.ask(profileRemovalSchema, "GET", "profiles/writer/removal")).toMatchObject({
    refusal: null,
    tasks: [{ board: "default", count: 1 }],
    settings: [{ profile: "default", key: "kanban.default_assignee" }],
  });
  const removed = await home.ask(removedProfileSchema, "DELETE", "profiles/writer");
  expect(removed.notes).toEqual([
    "The board default still has 1 open task of writer.",
    "The setting kanban.default_assignee of default still names writer.",
  ]);
  await access(removed.keptIn);
  expect((await home.send("GET", "profiles/writer")).status).toBe(404);
  expect(await home.lab.readAudit()).toMatch(/"msg":"POST \/api\/profiles",.*"detail":"writer from coder"/);
});

test("the default profile is not deleted, and the list of what that would end says why", async () => {
  await using home = await openDashboardHome();
  const { status, body } = await home.send("DELETE", "profiles/default");
  expect([status, body]).toMatchObject([409, { code: "profile-protected" }]);
  const preview = await home.ask(profileRemovalSchema, "GET", "profiles/default/removal");
  expect(preview.refusal?.text).toContain("cannot be deleted");
});

test("reading the platforms of a profile without a gateway creates no file", async () => {
  await using home = await openDashboardHome({ platforms: { irc: { enabled: true, nickname: "bot" } } });
  const answer = await home.ask(platformsAnswerSchema, "GET", "profiles/default/platforms");
  expect(answer.gateway.isRunning).toBe(false);
  expect(answer.platforms.find(({ name }) => name === "irc")).toMatchObject({
    isOn: true,
    missing: ["platforms.irc.server"],
    link: null,
  });
  await expect(access(home.folder.file("gateway.sqlite"))).rejects.toThrow("ENOENT");
  const approve = await home.send("POST", "profiles/default/pairing/irc/approve", { json: { code: "x" } });
  expect(approve.status).toBe(404);
});

test("a person is let in by the id of the request and shut out, with lines in the audit log", async () => {
  await using home = await openDashboardHome();
  using strangers = await openPairing(home.folder.file("gateway.sqlite"));
  const { pairing } = strangers;
  await strangers.ask("irc", "anna", "Anna");
  const { waiting } = await home.ask(platformsAnswerSchema, "GET", "profiles/default/platforms");
  const path = "profiles/default/pairing/irc";
  const reader = await home.signIn(["read", "work"]);
  const json = { code: waiting[0]?.id };
  expect((await home.send("POST", `${path}/approve`, { json, cookie: reader })).status).toBe(403);
  expect((await home.send("POST", `${path}/approve`, { json })).status).toBe(200);
  expect(pairing.isPaired("irc", "anna")).toBe(true);
  expect((await home.send("POST", `${path}/revoke`, { json: { userId: "anna" } })).status).toBe(204);
  expect((await home.send("POST", `${path}/revoke`, { json: { userId: "anna" } })).status).toBe(404);
  const audit = await home.lab.readAudit();
  expect(audit).toMatch(/"msg":"POST .*approve","outcome":"done".*"detail":"anna"/);
  expect(audit).toMatch(/"msg":"POST .*approve","outcome":"refused".*"detail":"scope-missing"/);
});
