import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  checkAppearance,
  type Dashboard,
  overflow,
  pageErrors,
  shareDashboard,
} from "../../support/dashboard-browser.ts";
import { describeWith } from "../../support/services.ts";

const LEVELS = ["info", "info", "warn", "debug", "error"];

function lineOf(number: number, fields: object = {}): string {
  const time = new Date(Date.now() - 3_600_000 + number).toISOString();
  const level = LEVELS[number % LEVELS.length];
  const component = number % 2 === 0 ? "board" : "gateway";
  return `${JSON.stringify({ level, time, pid: 1, component, msg: `line ${number} ends`, ...fields })}\n`;
}

const linesOf = (count: number): string =>
  Array.from({ length: count }, (_, number) => lineOf(number)).join("");

/** Writes the log of the home, and returns its path. */
function writeLog({ home }: Dashboard, text: string): string {
  const path = join(home.path, "logs", "agent.log");
  mkdirSync(join(home.path, "logs"), { recursive: true });
  writeFileSync(path, text);
  return path;
}

describeWith("chromium", "logs and health", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("B12: a log opens at its end, follows new lines, and shows markup and escape sequences as text", async () => {
    const dashboard = shared.dashboard();
    const path = writeLog(dashboard, linesOf(2_000));
    const page = await dashboard.tab("/logs");
    const log = page.getByRole("log");
    await log.getByText("line 1999 ends").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    let dialogs = 0;
    page.on("dialog", (dialog) => {
      dialogs += 1;
      void dialog.dismiss();
    });
    appendFileSync(path, lineOf(1, { msg: "<img src=x onerror=alert(1)> \u001b[31mred\u001b[0m \u202Etxt" }));
    const hostile = log.getByText("<img src=x onerror=alert(1)> red txt");
    await hostile.waitFor();
    await hostile.click();
    await page.getByRole("region", { name: "Selected line" }).getByText("<img src=x").waitFor();
    await checkAppearance(page, "logs");
    expect(dialogs).toBe(0);

    await log.hover();
    await page.mouse.wheel(0, -3_000);
    await page.getByRole("button", { name: "To the end" }).waitFor();
    const before = await log.evaluate((box) => box.scrollTop);
    appendFileSync(path, lineOf(2, { msg: "while paused" }));
    await page.getByRole("button", { name: "1 new line" }).click();
    await log.getByText("while paused").waitFor();
    expect(before).toBeGreaterThan(0);
    const goToStart = async (): Promise<boolean> => {
      await log.press("Home"); // each time, an older page is read
      return log.getByText("line 0 ends", { exact: true }).isVisible();
    };
    await expect.poll(goToStart, { timeout: 30_000 }).toBe(true);
    expect(pageErrors(page)).toEqual([]);
  });

  test("the filters are in the address, apply to new lines too, and narrow the window at any width", async () => {
    const dashboard = shared.dashboard();
    const path = writeLog(dashboard, linesOf(100));
    const page = await dashboard.tab("/logs?level=warn&component=board");
    const log = page.getByRole("log");
    await log.getByText("line 94 ends").waitFor();
    expect(await log.getByText("line 97 ends").count()).toBe(0);
    await page.getByText("Live", { exact: true }).waitFor();
    appendFileSync(path, lineOf(101, { msg: "other part" }) + lineOf(104, { msg: "same part" }));
    await log.getByText("same part").waitFor();
    expect(await log.getByText("other part").count()).toBe(0);
    await page.getByRole("searchbox").fill("94 END");
    await expect.poll(() => page.url()).toContain("q=94");
    await expect.poll(() => log.locator("button[data-level]").count()).toBe(1);
    await page.getByRole("searchbox").fill("nothing has this");
    await page.getByText("No line matches.").waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await log.getByText("line 99 ends").waitFor();
    for (const width of [320, 720, 1024, 1440]) {
      await page.setViewportSize({ width, height: 700 });
      expect(await overflow(page), `${width} px`).toBe(0);
    }
  });

  test("B8: 40,000 lines at once leave at most 5,000 rows and a small document", async () => {
    const dashboard = shared.dashboard();
    const path = writeLog(dashboard, linesOf(10));
    const page = await dashboard.tab("/logs");
    const log = page.getByRole("log");
    await log.getByText("line 9 ends").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    appendFileSync(path, linesOf(40_000));
    await log.getByText("line 39999 ends").waitFor();
    const count = await page.getByText(/^[\d,]+ lines$/).textContent();
    expect(Number(count?.replace(/\D/g, ""))).toBeLessThanOrEqual(5_000);
    expect(await page.evaluate<number>("document.querySelectorAll('*').length")).toBeLessThan(1_200);
    const height = await log.evaluate((box) => box.scrollHeight);
    expect(height).toBeLessThan(5_010 * 22 + 200);
  });

  test("Health lists each finding with its next step, and the audit shows sign-ins and refusals", async () => {
    const dashboard = shared.dashboard();
    const page = await dashboard.tab("/health");
    await page.getByText("No model provider is set up.").waitFor();
    await page.getByText("hermes setup", { exact: true }).waitFor();
    await checkAppearance(page, "health");
    await fetch(`${dashboard.url}/api/enter`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Hermes": "1" },
      body: JSON.stringify({ code: "wrong" }),
    });
    await page.getByRole("tab", { name: "Audit" }).click();
    await page.getByRole("cell", { name: "Signed in" }).first().waitFor();
    await page
      .getByRole("row")
      .filter({ hasText: "code-refused" })
      .getByText("refused", { exact: true })
      .waitFor();
    expect(page.url()).toContain("tab=audit");
    await checkAppearance(page, "audit");
    expect(pageErrors(page)).toEqual([]);
  });

  test("both pages speak German", async () => {
    const dashboard = shared.dashboard();
    writeLog(dashboard, linesOf(300));
    const page = await dashboard.page("/logs", { locale: "de-DE" });
    await page.getByRole("log", { name: "Zeilen des Protokolls" }).getByText("line 299 ends").waitFor();
    await checkAppearance(page, "logs-de");
    await page.getByRole("link", { name: "Zustand" }).first().click();
    await page.getByText("Was zu tun ist").waitFor();
    await checkAppearance(page, "health-de");
  });
});
