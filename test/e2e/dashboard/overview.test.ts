import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import {
  checkAppearance,
  type Dashboard,
  overflow,
  pageErrors,
  shareDashboard,
} from "../../support/dashboard-browser.ts";
import { describeWith } from "../../support/services.ts";

/** A task that waits for the answer to a question. */
async function blockedTask({ home }: Dashboard, title: string, question: string): Promise<string> {
  const created = await home.hermes(["kanban", "create", title, "--assignee", "default", "--json"]);
  const { id } = created.json<{ id: string }>();
  const { exitCode, stderr } = await home.hermes(["kanban", "block", id, question, "--kind", "needs_input"]);
  if (exitCode !== 0) throw new Error(stderr);
  return id;
}

/** The rows of “Needs you”. */
const needs = (page: Page) => page.locator("[data-row-of=needs]");

describeWith("chromium", "the Overview", ({ executable }) => {
  const shared = shareDashboard(executable);
  // The tests share a home, and each starts without needs.
  afterEach(async () => {
    const { home } = shared.dashboard();
    const listed = await home.hermes(["kanban", "list", "--json"]);
    for (const { id } of listed.json<{ id: string }[]>()) await home.hermes(["kanban", "archive", id]);
  });

  test("a fresh home lists the first steps, and ticks each when it is done", async () => {
    const dashboard = shared.dashboard();
    const page = await dashboard.tab();
    await page
      .getByRole("heading", { level: 1, name: "Nothing is running and nothing needs you." })
      .waitFor();
    await page.getByText("hermes setup").waitFor();
    await checkAppearance(page, "overview-fresh");
    await dashboard.home.hermes(["profile", "create", "coder"]);
    await page.reload();
    await expect.poll(() => page.getByText("hermes profile create coder").count()).toBe(0);
    expect(pageErrors(page)).toEqual([]);
  });

  test("B15: a question is answered in its row with the keyboard alone, and the task continues", async () => {
    const dashboard = shared.dashboard();
    const id = await blockedTask(dashboard, "Migrate the billing tables", "Drop the two rows, or keep them?");
    const page = await dashboard.tab();
    await needs(page).getByText("Drop the two rows, or keep them?").waitFor();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toContain("one thing needs you");
    await checkAppearance(page, "overview");
    for (const key of ["j", "r"]) await page.keyboard.press(key);
    await page.keyboard.type("Keep them");
    await checkAppearance(page, "overview-answer");
    await page.keyboard.press("Control+Enter");
    await expect
      .poll(async () => {
        const { stdout } = await dashboard.home.hermes(["kanban", "show", id, "--json"]);
        return (JSON.parse(stdout) as { task: { status: string } }).task.status;
      })
      .toBe("ready");
    await expect.poll(() => needs(page).getByText("Drop the two rows").count()).toBe(0);
    const { stdout } = await dashboard.home.hermes(["kanban", "show", id]);
    expect(stdout).toContain("Keep them");
    await needs(page).getByText("1 task is ready, but no dispatcher is running.").waitFor();
    expect(pageErrors(page)).toEqual([]);
  });

  test("changes of other processes appear without a reload, and nothing moves under the pointer", async () => {
    const dashboard = shared.dashboard();
    const page = await dashboard.tab();
    await page.getByText("Live", { exact: true }).waitFor();
    const first = await blockedTask(dashboard, "First", "First question?");
    await needs(page).getByText("First question?").waitFor();
    await needs(page).getByText("First question?").hover();
    const before = await needs(page).getByText("First question?").boundingBox();
    await blockedTask(dashboard, "Second", "Second question?");
    await needs(page).getByText("Second question?").waitFor();
    await dashboard.home.hermes(["kanban", "archive", first]);
    await expect
      .poll(() => page.getByRole("heading", { level: 1 }).textContent())
      .toContain("one thing needs you");
    expect(await needs(page).getByText("First question?").boundingBox()).toEqual(before);
    await page.mouse.move(700, 20);
    await expect.poll(() => needs(page).getByText("First question?").count()).toBe(0);
  });

  test("B12: markup, script and reversed text in a title and a question are text", async () => {
    const dashboard = shared.dashboard();
    const title = "<img src=x onerror=alert(1)> [x](javascript:alert(1))";
    await blockedTask(dashboard, title, "<script>alert(2)</script> really?");
    const page = await dashboard.tab();
    let dialogs = 0;
    page.on("dialog", (dialog) => {
      dialogs += 1;
      void dialog.dismiss();
    });
    await needs(page).getByText("<script>alert(2)</script> really?").waitFor();
    expect(await page.getByText(title).first().isVisible()).toBe(true);
    expect(dialogs).toBe(0);
    expect(pageErrors(page)).toEqual([]);
  });

  test("nothing is wider than the window from 320 to 1440 pixels", async () => {
    const dashboard = shared.dashboard();
    await blockedTask(dashboard, `A title without any space ${"x".repeat(180)}`, "y".repeat(400));
    const page = await dashboard.tab();
    await needs(page)
      .getByText(/y{100}/)
      .waitFor();
    for (const width of [320, 480, 720, 721, 1024, 1101, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await overflow(page), `${width} px`).toBe(0);
    }
  });

  test("the palette opens pages and finds tasks, and the list of keys opens without a mouse", async () => {
    const dashboard = shared.dashboard();
    await blockedTask(dashboard, "Migrate the billing tables", "Keep them?");
    const page = await dashboard.tab();
    await needs(page).getByText("Keep them?").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("billing");
    await page.getByRole("option", { name: /Migrate the billing tables/ }).waitFor();
    await checkAppearance(page, "palette");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await checkAppearance(page, "keys");
    await page.keyboard.press("Escape");
    for (const key of ["g", "s"]) await page.keyboard.press(key);
    await page.getByRole("heading", { name: /Sessions/ }).waitFor();
    expect(pageErrors(page)).toEqual([]);
  });
});
