import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkAppearance, pageErrors, shareDashboard } from "../../support/dashboard-browser.ts";
import { startRefusingServer } from "../../support/refusing-server.ts";
import { describeWith } from "../../support/services.ts";

const KEY = "sk-lab-0123456789abcdefghij";

describeWith("chromium", "Models and keys", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("a key is typed hidden, tested with one request, replaced and removed; no byte of it comes back", async () => {
    const dashboard = shared.dashboard();
    await using server = await startRefusingServer();
    const lab = `{ lab: { base_url: "${server.url}", key_env: LAB_KEY, model: m1 } }`;
    await writeFile(join(dashboard.home.path, "config.yaml"), `providers: ${lab}\n`);
    const env = join(dashboard.home.path, ".env");
    const page = await dashboard.tab("/models");
    const answers: Promise<string>[] = [];
    page.on("response", (response) => {
      if (response.url().includes("/api/profiles")) answers.push(response.text().catch(() => ""));
    });
    await page.getByRole("button", { name: /more providers without a key/ }).click();
    await page.getByRole("button", { name: "Set a key… lab" }).click();
    const field = page.locator("input[type=password]");
    await field.fill("sk-lab 01234567");
    await page.getByRole("button", { name: "Store the key" }).click();
    await page.getByText("contains a space or a line break").waitFor();
    expect(await field.inputValue()).toBe("sk-lab 01234567"); // stays in the field
    await field.fill(`  ${KEY} `);
    await page.getByRole("button", { name: "Store the key" }).click();
    await page.getByText("Stored LAB_KEY.").waitFor();
    expect(await readFile(env, "utf8")).toBe(`LAB_KEY=${KEY}\n`);
    await page.getByRole("button", { name: "Test LAB_KEY" }).click();
    await page.getByText("refused by the provider").waitFor();
    expect(server.requests()).toBe(1);
    await checkAppearance(page, "models");
    await page.getByRole("button", { name: "Replace… LAB_KEY" }).click();
    await field.fill("another-key-0123456789");
    await page.keyboard.press("Enter");
    await expect.poll(() => readFile(env, "utf8")).toBe("LAB_KEY=another-key-0123456789\n");
    await page.getByRole("button", { name: "Remove… LAB_KEY" }).click();
    await page.getByRole("button", { name: "Remove the key" }).click();
    await expect.poll(() => readFile(env, "utf8")).toBe("");
    expect((await Promise.all(answers)).join("")).not.toContain(KEY.slice(0, 10));
    expect(await page.content()).not.toContain(KEY.slice(0, 10));
    expect(pageErrors(page)).toEqual([]);
  });

  test("a model is chosen from the catalogue; a change elsewhere appears at once", async () => {
    const dashboard = shared.dashboard();
    await writeFile(join(dashboard.home.path, ".env"), `ANTHROPIC_API_KEY=${KEY}\n`);
    const page = await dashboard.tab("/models");
    await page.getByRole("searchbox", { name: "Find a model" }).fill("anthropic opus");
    await page
      .getByRole("button", { name: /^Use anthropic:/ })
      .first()
      .click();
    await page.getByText(/New sessions use anthropic:claude-opus/).waitFor();
    expect(await readFile(join(dashboard.home.path, "config.yaml"), "utf8")).toMatch(/default: claude-opus/);
    await dashboard.home.hermes(["config", "set", "model.default", "claude-sonnet-4-5"]);
    await page
      .locator("b", { hasText: /^claude-sonnet-4-5$/ })
      .first()
      .waitFor(); // without a reload
  });
});
