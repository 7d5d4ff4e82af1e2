import { join } from "node:path";
import { expect, test } from "vitest";
import type { AgentEvent } from "../../../src/agent/events.ts";
import { neverAborted } from "../../../src/lib/time/never-aborted.ts";
import { openSessionStore, type SessionStore } from "../../../src/sessions/session-store.ts";
import {
  checkAppearance,
  type Dashboard,
  overflow,
  pageErrors,
  shareDashboard,
} from "../../support/dashboard-browser.ts";
import { fillSessions } from "../../support/fill-sessions.ts";
import { describeWith } from "../../support/services.ts";
import {
  assistant,
  call,
  NEW_SESSION,
  recordAll,
  toolEnd,
  turnEnd,
  turnStart,
} from "../../support/session-fixtures.ts";

const openStore = ({ home }: Dashboard): Promise<SessionStore> =>
  openSessionStore(join(home.path, "sessions.sqlite"), {}, neverAborted);

/** A turn with two calls and an answer. */
function turn(id: string, question: string, answer: string): readonly AgentEvent[] {
  return [
    turnStart(id, question),
    assistant("I will look first.", [call(`${id}a`, '{"command":"npm test"}'), call(`${id}b`)]),
    toolEnd(`${id}a`, "\u001b[31mFAIL\u001b[0m redirect.test.ts", "failed"),
    toolEnd(`${id}b`, "ok"),
    assistant(answer),
    turnEnd(id),
  ];
}

async function addSession(
  { home }: Dashboard,
  store: SessionStore,
  title: string,
  turns: readonly (readonly AgentEvent[])[],
) {
  const draft = store.createSession(NEW_SESSION);
  for (const [index, events] of turns.entries())
    await recordAll(store, index === 0 ? draft : draft.id, events);
  await home.hermes(["sessions", "rename", draft.id, title]);
  return draft.id;
}

/** The distance of the window from the end of the page, in pixels. */
const distanceToEnd = "document.documentElement.scrollHeight - innerHeight - scrollY";

describeWith("chromium", "Sessions", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("a fresh home says how to start a session; then the list, a search and a transcript are shown", async () => {
    const dashboard = shared.dashboard();
    const page = await dashboard.tab("/sessions");
    await page.getByText("No sessions yet.").waitFor();
    await checkAppearance(page, "sessions-empty");
    using store = await openStore(dashboard);
    const answer = "All **pass** now.\n\n- `auth.ts` keeps the page\n\n```ts\nconst next = 1;\n```";
    await addSession(dashboard, store, "Fix the tests", [
      turn("t1", "Run the tests", answer),
      turn("t2", "Write it down", "Done."),
    ]);
    await addSession(dashboard, store, "Deploy to staging", [
      turn("t1", "How do we deploy?", "With the pipeline."),
    ]);
    await page.getByText("Fix the tests").waitFor(); // without a reload
    await page.keyboard.press("/");
    await page.keyboard.type("pipeline");
    await expect.poll(() => page.locator("mark").first().textContent()).toBe("pipeline");
    await expect.poll(() => page.getByText("Fix the tests").count()).toBe(0);
    expect(new URL(page.url()).searchParams.get("q")).toBe("pipeline");
    await checkAppearance(page, "sessions-search");
    await page.keyboard.press("Escape");
    await page.getByText("Fix the tests").click();
    await page.getByRole("heading", { name: "Fix the tests" }).waitFor();
    await page.getByText("2 calls").first().click();
    await checkAppearance(page, "transcript");
    await page.getByText("npm test").first().click();
    await page.getByText("FAIL redirect.test.ts", { exact: true }).waitFor(); // without its colours
    expect(pageErrors(page)).toEqual([]);
  });

  test("B7: a transcript opens at its end and follows it, but not after scrolling up", async () => {
    const dashboard = shared.dashboard();
    using store = await openStore(dashboard);
    const turns = Array.from({ length: 12 }, (_, n) =>
      turn(`t${n}`, `Question ${n}`, `Answer ${n}\n\n${"text ".repeat(300)}`),
    );
    const id = await addSession(dashboard, store, "Long", turns);
    const page = await dashboard.tab(`/sessions/default/${id}`);
    await page.getByText("Answer 11").waitFor();
    await expect.poll(() => page.evaluate(distanceToEnd)).toBeLessThan(4);
    await recordAll(store, id, turn("t90", "One more", "The latest answer"));
    await page.getByText("The latest answer").waitFor();
    await expect.poll(() => page.evaluate(distanceToEnd)).toBeLessThan(4);
    await page.mouse.move(900, 500);
    await page.mouse.wheel(0, -700);
    await expect.poll(() => page.evaluate(distanceToEnd)).toBeGreaterThan(500);
    const before = await page.getByText("Question 11").boundingBox();
    await recordAll(store, id, turn("t91", "And another", "Out of sight"));
    await page.getByText("Out of sight").waitFor({ state: "attached" });
    expect(await page.getByText("Question 11").boundingBox()).toEqual(before);
  });

  test("B6: a session of 5,000 messages opens at its end with few elements, and scrolling up loads older ones", async () => {
    const dashboard = shared.dashboard();
    await dashboard.home.hermes(["sessions", "list"]); // creates the store
    await fillSessions(join(dashboard.home.path, "sessions.sqlite"), 5_000, neverAborted, {
      perSession: 5_000,
    });
    const page = await dashboard.tab("/sessions/default/20250101_000000_000000");
    await page.locator("section[id^=turn-]").last().waitFor();
    await expect.poll(() => page.evaluate(distanceToEnd)).toBeLessThan(4);
    const turns = page.locator("section[id^=turn-]");
    const first = await turns.count();
    expect(first).toBeLessThan(200);
    await page.evaluate("scrollTo(0, 0)");
    await expect.poll(() => turns.count()).toBeGreaterThan(first);
  });

  test("B12: markup, script and terminal sequences in a transcript are text", async () => {
    const dashboard = shared.dashboard();
    using store = await openStore(dashboard);
    const hostile =
      "<script>alert(1)</script> <b>bold</b> [go](javascript:alert(2)) ![p](http://x.example/p.png)";
    const id = await addSession(dashboard, store, "<i>title</i>\u202egnp.exe", [
      turn("t1", hostile, hostile),
    ]);
    const page = await dashboard.tab(`/sessions/default/${id}`);
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(dashboard.url)) foreign.push(request.url());
    });
    await page.getByText("<script>alert(1)</script>").first().waitFor();
    await page.reload();
    await page.getByText("<script>alert(1)</script>").first().waitFor();
    await page.getByRole("heading", { name: "<i>title</i>gnp.exe" }).waitFor();
    expect(
      await page
        .locator("a[href^='javascript'], script:not([src]), article img, article b:text-is('bold')")
        .count(),
    ).toBe(0);
    expect(foreign).toEqual([]);
    expect(pageErrors(page)).toEqual([]);
  });

  test("a session is renamed, archived, unarchived, and deleted after a confirmation", async () => {
    await using dashboard = await shared.openOwn(); // with no other session
    using store = await openStore(dashboard);
    const id = await addSession(dashboard, store, "Before", [turn("t1", "Hello", "Hi.")]);
    const page = await dashboard.tab(`/sessions/default/${id}`);
    const more = (name: string) => async (): Promise<void> => {
      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name }).click();
    };
    await more("Rename")();
    await page.getByRole("textbox", { name: "Title" }).fill("After");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "After" }).waitFor();
    await more("Archive")();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("Unarchived.").waitFor();
    await more("Delete…")();
    await page.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByText("No sessions yet.").waitFor();
    const { stdout } = await dashboard.home.hermes(["sessions", "list", "--json"]);
    expect(JSON.parse(stdout)).toEqual([]);
  });

  test("nothing is wider than the window at 320 pixels", async () => {
    const dashboard = shared.dashboard();
    using store = await openStore(dashboard);
    const long = `${"x".repeat(300)}\n\n| a | b |\n|---|---|\n| ${"y".repeat(200)} | z |\n\n\`\`\`\n${"w".repeat(300)}\n\`\`\``;
    const id = await addSession(dashboard, store, "t".repeat(120), [turn("t1", long, long)]);
    const page = await dashboard.page("/sessions", { size: { width: 320, height: 640 } });
    await page.getByRole("link", { name: /^t+/ }).waitFor();
    expect(await overflow(page)).toBe(0);
    await page.goto(`${dashboard.url}/sessions/default/${id}`);
    await page.getByText(/^x+$/).first().waitFor();
    expect(await overflow(page)).toBe(0);
  });
});
