import { expect, test } from "vitest";
import { checkAppearance, pageErrors, shareDashboard } from "../../support/dashboard-browser.ts";
import { describeWith } from "../../support/services.ts";

describeWith("chromium", "the language of the dashboard", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("a German browser gets German, numbers and dates included, and can choose English", async () => {
    const dashboard = shared.dashboard();
    await dashboard.home.hermes(["kanban", "create", "Den Login reparieren", "--hold"]);
    const page = await dashboard.page("", { locale: "de-AT" });
    await page
      .getByRole("heading", { level: 1, name: "Nichts läuft, und eine Sache braucht Sie." })
      .waitFor();
    expect(await page.evaluate("document.documentElement.lang")).toBe("de");
    await checkAppearance(page, "overview-de");

    await page.getByRole("link", { name: "Board" }).first().click();
    await page.getByRole("button", { name: "Neue Aufgabe" }).first().click();
    await page.getByLabel("Was zu tun ist").fill("Erst den Fehler nachstellen");
    await checkAppearance(page, "create-de");
    await page.keyboard.press("Escape");
    await page.getByText("Den Login reparieren").first().click();
    await page.getByText("Warum sie in dieser Spalte ist").waitFor();
    await checkAppearance(page, "task-de");

    await page.goto(`${dashboard.url}/`);
    await page.getByRole("button", { name: "Farben und Sprache" }).click();
    await page.getByRole("menuitemradio", { name: "English" }).click();
    await page
      .getByRole("heading", { level: 1, name: "Nothing is running and one thing needs you." })
      .waitFor();
    expect(await page.evaluate("document.documentElement.lang")).toBe("en");
    expect(pageErrors(page)).toEqual([]);
  });

  test("an English browser downloads no German texts", async () => {
    const dashboard = shared.dashboard();
    const page = await dashboard.page("", { locale: "fr-FR" });
    const loaded: string[] = [];
    page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Nothing is running" }).waitFor();
    expect(loaded.filter((path) => /\/de-/.test(path))).toEqual([]);
    expect(loaded.some((path) => /\/app-/.test(path))).toBe(true);
  });
});
