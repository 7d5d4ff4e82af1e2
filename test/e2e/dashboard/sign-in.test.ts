import { expect, test } from "vitest";
import {
  checkAppearance,
  findViolations,
  pageErrors,
  shareDashboard,
} from "../../support/dashboard-browser.ts";
import { describeWith } from "../../support/services.ts";

describeWith("chromium", "signing in to the dashboard", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("A1, A4: a link signs a browser in once, and its code is removed from the address", async () => {
    const dashboard = shared.dashboard();
    const link = await dashboard.link();
    const page = await dashboard.stranger();
    await page.goto(link);
    await page.getByRole("navigation").first().waitFor();
    expect(page.url()).toBe(`${dashboard.url}/`);
    expect(await page.evaluate("history.length")).toBeLessThanOrEqual(2);

    const other = await dashboard.stranger();
    await other.goto(link);
    await expect.poll(() => other.getByRole("alert").textContent()).toContain("used before");
    await checkAppearance(other, "sign-in");
    expect([...pageErrors(page), ...pageErrors(other)]).toEqual([]);
  });

  test("A2: at every address, a stranger sees how to sign in, and no data", async () => {
    const dashboard = shared.dashboard();
    const page = await dashboard.stranger();
    for (const path of ["/", "/sessions", "/board/default"]) {
      const answers: string[] = [];
      page.on("response", (response) => answers.push(new URL(response.url()).pathname));
      await page.goto(dashboard.url + path);
      await page.getByRole("heading", { name: "This browser is not signed in." }).waitFor();
      expect(answers.filter((path) => path.startsWith("/api/"))).toEqual(["/api/me"]);
      page.removeAllListeners("response");
    }
    await page.getByPlaceholder("Link or code").fill(await dashboard.link());
    await page.keyboard.press("Enter");
    await page.getByRole("navigation").first().waitFor();
  });

  test("A19: after a sign-out elsewhere, an open page asks to sign in again and keeps unsent text", async () => {
    await using dashboard = await shared.openOwn(); // its sign-out would reach the other tests
    const { home } = dashboard;
    const task = await home.hermes([
      "kanban",
      "create",
      "Migrate the tables",
      "--assignee",
      "default",
      "--json",
    ]);
    const { id } = task.json<{ id: string }>();
    await home.hermes(["kanban", "block", id, "Drop them or keep them?", "--kind", "needs_input"]);
    const page = await dashboard.page();
    await page.getByRole("button", { name: "Answer" }).click();
    await page.getByRole("textbox", { name: /Answer/ }).fill("Keep them, un");
    let navigations = 0;
    page.on("framenavigated", () => {
      navigations += 1;
    });
    await home.hermes(["dashboard", "sign-out"]);
    const over = page.getByRole("dialog", { name: "You were signed out." });
    await over.waitFor();
    expect(await findViolations(page)).toEqual([]);
    await over.getByPlaceholder("Link or code").fill(await dashboard.link());
    await page.keyboard.press("Enter");
    await over.waitFor({ state: "detached" });
    expect(await page.getByRole("textbox", { name: /Answer/ }).inputValue()).toBe("Keep them, un");
    expect(navigations).toBe(0);
    await expect.poll(() => page.getByText("Live", { exact: true }).count()).toBe(1);
  });
});
