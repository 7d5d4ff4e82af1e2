import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { neverAborted } from "../../../src/lib/time/never-aborted.ts";
import { openChatHome } from "../../support/chat-home.ts";
import {
  checkAppearance,
  type Dashboard,
  overflow,
  pageErrors,
  shareDashboard,
} from "../../support/dashboard-browser.ts";
import { fillSessions } from "../../support/fill-sessions.ts";
import { describeWith } from "../../support/services.ts";

/** The file that lets the waiting calls of a test end. */
const goFile = ({ home }: Dashboard): string => join(home.folder, "go");

const shell = (command: string) => ({ tools: [{ name: "terminal", input: { command } }] });

/** A home whose model answers from a script, by what the message contains. */
async function setModel(dashboard: Dashboard): Promise<void> {
  const { home } = dashboard;
  const go = goFile(dashboard);
  await rm(go, { force: true });
  const wait = shell(`echo begun; until [ -e ${go} ]; do sleep 0.05; done; echo went`);
  const long = Array.from({ length: 60 }, (_, n) => `Line ${n} of a long answer.`).join("\n\n");
  const turns = [
    { when: "Grow", answers: [wait, { text: "One two three four five.", chunk: 3, delay_ms: 200 }] },
    { when: "Scroll", answers: [wait, { text: long, chunk: 40, delay_ms: 10 }] },
    { when: "Work", answers: [wait, { text: "The work is **done**." }] },
    { when: "After", answers: [{ text: "That came after." }] },
    { when: "Ask", answers: [shell("rm -rf ./never-there"), { text: "Removed." }] },
    {
      when: "Fail",
      answers: [
        { ...shell("echo again"), fail: { kind: "unavailable", attempts: 1, retry_after_ms: 1_000 } },
        { text: "Recovered." },
      ],
    },
    {
      when: "Limit",
      answers: [{ ...shell("echo again"), times: 5 }],
    },
    { when: "Message", answers: [{ text: "Still here." }] },
  ];
  await mkdir(home.path, { recursive: true });
  await writeFile(join(home.folder, "script.json"), JSON.stringify({ turns }));
  await writeFile(
    join(home.path, "config.yaml"),
    JSON.stringify({
      model: { provider: "scripted", default: join(home.folder, "script.json") },
      approvals: { mode: "manual" },
    }),
  );
}

const field = (page: Page) => page.getByRole("textbox", { name: "Message" });
async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.keyboard.press("Control+Enter");
}
const sessionOf = (page: Page): string => new URL(page.url()).pathname.split("/").at(-1) ?? "";
const allow = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

/** The distance of the window from the end of the page, in pixels. */
const distanceToEnd = "document.documentElement.scrollHeight - innerHeight - scrollY";

describeWith("chromium", "Chat", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("without a model the page says how to get one; with one, the first message begins a session that grows in two browsers", async () => {
    const dashboard = shared.dashboard();
    const page = await dashboard.tab("/chat");
    await page.getByText("There is no model yet.").waitFor();
    await checkAppearance(page, "chat-no-model");
    await setModel(dashboard);
    await page.reload();
    await page.getByText("What should Hermes do?").waitFor();
    await checkAppearance(page, "chat-empty");
    await say(page, "Grow");
    await page.waitForURL(/\/chat\/\d/);
    const other = await dashboard.page(`/chat/${sessionOf(page)}`);
    await other.getByText("running", { exact: true }).waitFor();
    await writeFile(goFile(dashboard), "");
    const pieces = new Set<string>();
    await expect
      .poll(async () => {
        const text = (await page.locator("section[id^=turn-]").textContent()) ?? "";
        pieces.add(/One[a-z. ]*$/.exec(text)?.[0] ?? "");
        return [...pieces].join("|");
      })
      .toContain("One two three four five.");
    expect(pieces.size).toBeGreaterThan(3);
    await other.getByText("One two three four five.").waitFor();
    expect(await page.getByText("One two three four five.").count()).toBe(1);
    expect(pageErrors(page)).toEqual([]);
  });

  test("while a turn runs, messages are queued, a note is given, and Escape twice stops it; the queue is then held", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    const page = await dashboard.tab("/chat");
    await say(page, "Work");
    await page.getByText("running", { exact: true }).waitFor();
    await say(page, "After that");
    await page.getByText("Waiting to be sent").waitFor();
    await field(page).fill("A note");
    await page.keyboard.press("Control+Shift+Enter");
    await page.getByText("note, not read yet").waitFor();
    await checkAppearance(page, "chat-running");
    await field(page).press("Escape");
    await field(page).press("Escape");
    await page.getByText("Not sent, because the turn before did not complete.").waitFor();
    await page.getByText("Stopped. The turn was stopped.").waitFor();
    await checkAppearance(page, "chat-held");
    await page.getByRole("button", { name: "Edit" }).first().click();
    await expect.poll(() => field(page).inputValue()).toBe("A note");
    await field(page).fill("");
    await allow(page, "Send now");
    await page.getByText("That came after.").waitFor();
    await field(page).press("ArrowUp");
    expect(await field(page).inputValue()).toBe("After that");
    expect(pageErrors(page)).toEqual([]);
  });

  test("a draft stays in its session, also over a reload, and a refused message stays in the field", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    const page = await dashboard.tab("/chat");
    await field(page).fill("Half a thought");
    await page.reload();
    await expect.poll(() => field(page).inputValue()).toBe("Half a thought");
    await page.route("**/api/profiles/*/turns", (route) =>
      route.fulfill({
        status: 429,
        contentType: "application/json",
        body: JSON.stringify({ code: "turns-full", message: "64 turns run already.", hint: "" }),
      }),
    );
    await page.keyboard.press("Control+Enter");
    await page.getByText("64 turns run already.").waitFor();
    expect(await field(page).inputValue()).toBe("Half a thought");
    await page.unroute("**/api/profiles/*/turns");
    await field(page).fill("");
  });

  test("a call is approved in place; a turn of the terminal chat is approved in the browser", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    const { home } = dashboard;
    const page = await dashboard.tab("/chat");
    await say(page, "Ask me first");
    await page.getByText("rm -rf ./never-there").first().waitFor();
    await checkAppearance(page, "chat-question");
    await allow(page, "No");
    await page.getByText("denied").waitFor();
    await page.getByText("Removed.").waitFor();
    await using lab = await openChatHome([], {
      HERMES_HOME: home.path,
      HERMES_MODEL_DEFAULT: join(home.folder, "script.json"),
    });
    using terminal = lab.start(["chat", "--resume", sessionOf(page)]);
    await terminal.shows("Removed.");
    terminal.type("Ask again\r");
    await terminal.shows("rm -rf ./never-there");
    await page.getByRole("button", { name: "Once", exact: true }).waitFor();
    await allow(page, "Once");
    await expect.poll(() => terminal.screen().split("Removed.").length).toBeGreaterThan(2);
    await expect.poll(() => page.getByText("Removed.").count()).toBe(2);
    await page.getByRole("link", { name: "Transcript" }).click();
    await page.getByRole("link", { name: "Resume", exact: true }).click();
    await field(page).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/chat\/\d/);
  });

  test("a chosen model answers, and plan mode refuses what would change something", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    const other = join(dashboard.home.folder, "other.json");
    await writeFile(other, JSON.stringify({ answers: [{ text: "The other model." }] }));
    const page = await dashboard.tab("/chat");
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByRole("combobox", { name: "Model" }).fill(`scripted:${other}`);
    await page.keyboard.press("Enter");
    await say(page, "Who are you?");
    await page.getByText("The other model.").waitFor();
    await page.goto(`${dashboard.url}/chat`);
    await page.getByRole("combobox", { name: "Approvals" }).selectOption({ label: "Plan only" });
    await say(page, "Ask in plan mode");
    await page.getByText("Removed.").waitFor();
    await page.getByText("denied").waitFor();
    expect(await page.getByRole("button", { name: "Once", exact: true }).count()).toBe(0);
  });

  test("B1: after a restart of the server the chat shows what is stored, and unsent messages are in the field again", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    const page = await dashboard.tab("/chat");
    await say(page, "Work until the restart");
    await page.getByText("running", { exact: true }).waitFor();
    await say(page, "Message that waits");
    await page.getByText("Waiting to be sent").waitFor();
    await dashboard.restart();
    await expect.poll(() => field(page).inputValue()).toBe("Message that waits");
    await page.getByText("Stopped. The turn was stopped.").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByText("Still here.").waitFor();
  });

  test("B16: the browser is killed during a turn, and the answer is read in the terminal chat", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    const { home } = dashboard;
    const page = await dashboard.page("/chat");
    await say(page, "Work while I am away");
    await page.getByText("running", { exact: true }).waitFor();
    const session = sessionOf(page);
    await page.context().close();
    await writeFile(goFile(dashboard), "");
    await using lab = await openChatHome([], {
      HERMES_HOME: home.path,
      HERMES_MODEL_DEFAULT: join(home.folder, "script.json"),
    });
    using terminal = lab.start(["chat", "--resume", session]);
    await expect
      .poll(async () => (await home.hermes(["sessions", "show", session])).stdout)
      .toContain("The work is");
    terminal.type("Message from here\r");
    await terminal.shows("Still here.");
  });

  test("B7: scrolling up while an answer streams stays where it is", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    await dashboard.home.hermes(["sessions", "list"]); // creates the store
    const page = await dashboard.tab("/chat");
    await say(page, "Scroll");
    await writeFile(goFile(dashboard), "");
    await page.getByText("Line 25 of a long answer.").waitFor();
    await expect.poll(() => page.evaluate(distanceToEnd)).toBeLessThan(60);
    await page.mouse.move(700, 300);
    await page.mouse.wheel(0, -500);
    await expect.poll(() => page.evaluate(distanceToEnd)).toBeGreaterThan(200);
    const before = await page.getByText("Line 10 of a long answer.").boundingBox();
    await page.getByText("Line 59 of a long answer.").waitFor({ state: "attached" });
    expect(await page.getByText("Line 10 of a long answer.").boundingBox()).toEqual(before);
  });

  test("B21: a failed attempt and a reached limit are shown in the turn", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    const page = await dashboard.tab("/chat");
    await say(page, "Fail once");
    await page.getByText(/Trying again in \d+ s\./).waitFor();
    await page.getByText("Recovered.").waitFor();
    await dashboard.home.hermes(["config", "set", "agent.max_turns", "2"]);
    await say(page, "Limit");
    await page.getByText("Ended at a limit.").waitFor();
  });

  test("B6: a session of 5,000 messages opens at its end with few elements, and typing stays quick", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    await fillSessions(join(dashboard.home.path, "sessions.sqlite"), 5_000, neverAborted, {
      perSession: 5_000,
    });
    const page = await dashboard.tab("/chat/20250101_000000_000000");
    const turns = page.locator("section[id^=turn-]");
    await turns.last().waitFor();
    await expect.poll(() => page.evaluate(distanceToEnd)).toBeLessThan(4);
    expect(await turns.count()).toBeLessThan(200);
    const slowest = Number(
      await page.evaluate(`new Promise((done) => {
        const area = document.querySelector("article textarea");
        const set = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set;
        const times = [];
        const type = (count) => {
          if (count === 0) return done(times.sort((a, b) => a - b)[Math.floor(times.length / 2)]);
          const start = performance.now();
          set.call(area, area.value + "x");
          area.dispatchEvent(new Event("input", { bubbles: true }));
          times.push(performance.now() - start);
          requestAnimationFrame(() => type(count - 1));
        };
        type(40);
      })`),
    );
    expect(slowest).toBeLessThan(50);
    await field(page).fill("");
  });

  test("nothing is wider than the window at 320 pixels, and a read-only sign-in sees no field", async () => {
    const dashboard = shared.dashboard();
    await setModel(dashboard);
    const page = await dashboard.page("/chat", { size: { width: 320, height: 640 } });
    await say(page, `Message ${"x".repeat(300)}`);
    await page.getByText("Still here.").waitFor();
    expect(await overflow(page)).toBe(0);
    const reader = await dashboard.stranger();
    const { stdout } = await dashboard.home.hermes(["dashboard", "link", "--read-only"]);
    await reader.goto(stdout.trim());
    await reader.getByRole("link", { name: "Chat" }).first().click();
    await reader.getByText("This sign-in is read-only").waitFor();
    expect(await field(reader).count()).toBe(0);
  });
});
