import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  checkAppearance,
  type Dashboard,
  pageErrors,
  shareDashboard,
} from "../../support/dashboard-browser.ts";
import { openPairing } from "../../support/pairing.ts";
import { describeWith } from "../../support/services.ts";

describeWith("chromium", "Platforms", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("platforms are shown as the running gateway reports them; people are let in, by id or code, and shut out", async () => {
    const dashboard = shared.dashboard();
    const { home } = dashboard;
    const page = await dashboard.tab("/platforms");
    await page.getByText("The gateway is not running").waitFor();
    await page.getByText("No platform is set up.").waitFor();
    // Nothing listens on port 9, so the connection fails for a real reason.
    const irc =
      "platforms:\n  irc:\n    server: 127.0.0.1\n    port: 9\n    nickname: bot\n    use_tls: false\n";
    await writeFile(join(home.path, "config.yaml"), `${irc}kanban:\n  dispatch_in_gateway: false\n`);
    await using gateway = startGateway(home);
    await page.getByText(`process ${gateway.pid}`).waitFor(); // without a reload
    await page.getByText("ECONNREFUSED").waitFor();

    using strangers = await openPairing(join(home.path, "gateway.sqlite"));
    const { pairing } = strangers;
    await strangers.ask("irc", "anna", "Anna");
    const code = await strangers.ask("irc", "eve", "<b>Eve</b>\u202e");
    await page.getByRole("button", { name: "Let in: Anna" }).waitFor();
    await page.getByText("<b>Eve</b>", { exact: true }).waitFor(); // as text
    await checkAppearance(page, "platforms");
    await page.getByRole("button", { name: "Let in: Anna" }).click();
    await page.getByText("Anna is let in.").waitFor();
    expect(pairing.isPaired("irc", "anna")).toBe(true);
    await page.getByRole("button", { name: "Let in by code…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Code" }).fill("AAAA2222");
    await dialog.getByRole("button", { name: "Let in" }).click();
    await dialog.getByText("has this id or code, or it has expired").waitFor();
    await dialog.getByRole("textbox", { name: "Code" }).fill(`${code.slice(0, 4)} ${code.slice(4)}`);
    await dialog.getByRole("button", { name: "Let in" }).click();
    await expect.poll(() => pairing.isPaired("irc", "eve")).toBe(true);
    await page.getByRole("button", { name: "Revoke… Anna" }).click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await expect.poll(() => pairing.isPaired("irc", "anna")).toBe(false);
    expect(pageErrors(page)).toEqual([]);
  });
});

function startGateway(home: Dashboard["home"]) {
  const { child, ended } = home.start(["gateway", "run"]);
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
