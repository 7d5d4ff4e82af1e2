import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { checkAppearance, pageErrors, shareBrowser } from "../../support/dashboard-browser.ts";
import { openRealOidc } from "../../support/real-oidc.ts";
import { describeWith } from "../../support/services.ts";

const CLIENT = { client_id: "hermes", client_secret: "a secret between the two" };

/** Signs in on the pages of the provider. */
async function signInAt(page: Page, name: string): Promise<void> {
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("anything");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click(); // the consent
}

describeWith("chromium", "signing in with an OpenID Connect provider", ({ executable }) => {
  const shared = shareBrowser(executable);

  test("A16, A19: a person signs in at the provider and comes back; others are told why not; an outage signs nobody out", async () => {
    await using provider = await openRealOidc();
    await using dashboard = await shared.openDashboard(async (home) => {
      const settings = {
        ...CLIENT,
        allowed_users: '["alice@example.org"]',
        issuer: provider.issuer,
      };
      for (const [name, value] of Object.entries(settings))
        expect(await home.hermes(["config", "set", `dashboard.oidc.${name}`, value])).toMatchObject({
          exitCode: 0,
        });
    });
    const page = await dashboard.stranger();
    await page.goto(`${dashboard.url}/sessions`);
    const button = page.getByRole("button", { name: `Sign in with ${new URL(provider.issuer).host}` });
    await button.click();
    await page.getByRole("alert").getByText("cannot be used now").waitFor(); // not set up yet
    expect(page.url()).toBe(`${dashboard.url}/sessions`);

    provider.addDashboard(dashboard.url, CLIENT);
    await checkAppearance(page, "sign-in-oidc");
    await button.click();
    await signInAt(page, "mallory");
    await page.getByRole("alert").getByText("This account may not use this dashboard.").waitFor();
    expect(page.url()).toBe(`${dashboard.url}/`);
    expect(await page.getByText("hermes dashboard link").count()).toBe(0);

    const other = await dashboard.stranger();
    await other.goto(`${dashboard.url}/sessions?since=week`);
    await other.getByRole("button", { name: /^Sign in with/ }).click();
    await signInAt(other, "alice");
    await other.getByRole("heading", { name: /Sessions/ }).waitFor();
    expect(other.url()).toBe(`${dashboard.url}/sessions?since=week`);
    await provider[Symbol.asyncDispose]();
    await other.reload();
    await other.getByRole("heading", { name: /Sessions/ }).waitFor();
    expect(pageErrors(other)).toEqual([]);
    const { stdout } = await dashboard.home.hermes(["logs", "dashboard-audit"]);
    expect(stdout).toContain("mallory may not use this dashboard");
    expect(stdout).toContain("login=alice");
  });
});
