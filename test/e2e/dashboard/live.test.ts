import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { type Dashboard, shareDashboard } from "../../support/dashboard-browser.ts";
import { describeWith } from "../../support/services.ts";

const NINE = 9;

async function ask({ home }: Dashboard, question: string): Promise<void> {
  const created = await home.hermes(["kanban", "create", question, "--assignee", "default", "--json"]);
  await home.hermes([
    "kanban",
    "block",
    created.json<{ id: string }>().id,
    question,
    "--kind",
    "needs_input",
  ]);
}

const isLive = (page: Page) => page.getByText("Live", { exact: true }).waitFor();

/** Counts the requests of a browser whose path ends with `path`. */
function countRequests(page: Page, path: string): () => number {
  let count = 0;
  page.context().on("request", (request) => {
    if (new URL(request.url()).pathname.endsWith(path)) count += 1;
  });
  return () => count;
}

describeWith("chromium", "the live stream", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("an idle page sends no requests", async () => {
    const dashboard = shared.dashboard();
    const page = await dashboard.page();
    await isLive(page);
    await page.getByRole("heading", { level: 1, name: /Nothing is running/ }).waitFor();
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.clock.install();
    await page.clock.runFor(30_000);
    expect(requests).toEqual([]);
  });

  test("while the connection is lost, an answer is refused with a message, and its text stays", async () => {
    const dashboard = shared.dashboard();
    await ask(dashboard, "Which one?");
    const page = await dashboard.page();
    await page.getByRole("button", { name: "Answer" }).click();
    await dashboard.restart(async () => {
      await page
        .getByText(/Connection lost at/)
        .first()
        .waitFor();
      await page.getByRole("textbox", { name: /Answer/ }).fill("This one");
      await page.keyboard.press("Control+Enter");
      await page.getByText(/so this was not sent/).waitFor();
      expect(await page.getByRole("textbox", { name: /Answer/ }).inputValue()).toBe("This one");
    });
    await isLive(page);
    await page.keyboard.press("Control+Enter");
    await page
      .getByText(/Answered/)
      .first()
      .waitFor();
  });

  test("B1: open pages reconnect after a restart of the server, without a reload, and miss nothing", async () => {
    const dashboard = shared.dashboard();
    const first = await dashboard.page();
    const second = await first.context().newPage();
    await second.goto(dashboard.url);
    await Promise.all([isLive(first), isLive(second)]);
    let navigations = 0;
    for (const page of [first, second]) {
      page.on("framenavigated", () => {
        navigations += 1;
      });
    }
    await dashboard.restart(async () => {
      await first
        .getByText(/Connection lost at/)
        .first()
        .waitFor();
      await ask(dashboard, "Asked while nobody listened?");
    });
    for (const page of [first, second]) {
      await page.getByText("Asked while nobody listened?").first().waitFor();
      await isLive(page);
    }
    expect(await first.getByText(/Connection lost at/).count()).toBe(0);
    expect(navigations).toBe(0);
  });

  test("B3: nine tabs share one stream, even after the tab that reads it was closed", async () => {
    const dashboard = shared.dashboard();
    const first = await dashboard.page();
    await isLive(first);
    const streams = countRequests(first, "/api/events");
    const tabs = [first];
    while (tabs.length < NINE) {
      const tab = await first.context().newPage();
      await tab.goto(dashboard.url);
      tabs.push(tab);
    }
    await Promise.all(tabs.map(isLive));
    expect(streams()).toBe(0);
    await ask(dashboard, "Seen by all?");
    await Promise.all(tabs.map((tab) => tab.getByText("Seen by all?").first().waitFor()));
    await first.close();
    await expect.poll(streams).toBe(1);
    await ask(dashboard, "Seen by the rest?");
    await Promise.all(tabs.slice(1).map((tab) => tab.getByText("Seen by the rest?").first().waitFor()));
    expect(streams()).toBe(1);
  });
});
