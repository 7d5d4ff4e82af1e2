import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  checkAppearance,
  type Dashboard,
  pageErrors,
  shareDashboard,
} from "../../support/dashboard-browser.ts";
import { describeWith } from "../../support/services.ts";

const TEXT = [
  "# mine",
  "terminal:",
  "  timeout: 60 # seconds",
  "  backend: local",
  "unknown: stays",
  "",
].join("\n");

const pathOf = ({ home }: Dashboard): string => join(home.path, "config.yaml");
const store = (dashboard: Dashboard, text = TEXT): Promise<void> => writeFile(pathOf(dashboard), text);
const stored = (dashboard: Dashboard): Promise<string> => readFile(pathOf(dashboard), "utf8");

describeWith("chromium", "Settings", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("B10: the form shows where each value is from; saving one setting changes one line of config.yaml", async () => {
    const dashboard = shared.dashboard();
    await store(dashboard);
    const page = await dashboard.tab("/settings/terminal");
    const row = page.locator("[id='setting-terminal.timeout']");
    await row.getByText("from config.yaml:3, default 180").waitFor();
    await checkAppearance(page, "settings");
    await row.getByRole("textbox", { name: "terminal.timeout" }).fill("300");
    await page.getByText("1 change").waitFor();
    await page.keyboard.press("Control+s");
    await page.getByText("Saved 1 setting.").waitFor();
    expect(await stored(dashboard)).toBe(TEXT.replace("60", "300"));
    await row.getByRole("button", { name: "Use the default" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => stored(dashboard)).toBe(TEXT.replace("  timeout: 60 # seconds\n", ""));
    await row.getByText("default", { exact: true }).waitFor();
    expect(pageErrors(page)).toEqual([]);
  });

  test("B10: invalid text stays in its field with a sentence, also after a reload, and several settings are saved at once", async () => {
    const dashboard = shared.dashboard();
    await store(dashboard);
    const page = await dashboard.tab("/settings/terminal");
    await page.getByRole("textbox", { name: "terminal.timeout" }).fill("soon");
    await page.getByRole("combobox", { name: "terminal.backend" }).selectOption("docker");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText('expected a whole number, not "soon"').waitFor();
    expect(await stored(dashboard)).toBe(TEXT);
    await page.reload();
    await expect
      .poll(() => page.getByRole("textbox", { name: "terminal.timeout" }).inputValue())
      .toBe("soon");
    await page.getByRole("textbox", { name: "terminal.timeout" }).fill("90");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved 2 settings.").waitFor();
    expect(await stored(dashboard)).toBe(TEXT.replace("60", "90").replace("local", "docker"));
  });

  test("B10: a change elsewhere appears at once, keeps drafts, and shows both versions of a setting that both changed", async () => {
    const dashboard = shared.dashboard();
    await store(dashboard);
    const page = await dashboard.tab("/settings/terminal");
    const timeout = page.getByRole("textbox", { name: "terminal.timeout" });
    await timeout.fill("300");
    await store(dashboard, TEXT.replace("60", "90").replace("local", "docker"));
    await page.getByText("Changed elsewhere to 90 while you edited it.").waitFor(); // without a reload
    await expect
      .poll(() => page.getByRole("combobox", { name: "terminal.backend" }).inputValue())
      .toBe("docker");
    expect(await timeout.inputValue()).toBe("300");
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await checkAppearance(page, "settings-conflict");
    await page.getByRole("button", { name: "Keep mine" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved 1 setting.").waitFor();
    expect(await stored(dashboard)).toBe(TEXT.replace("60", "300").replace("local", "docker"));
  });

  test("B10: two browsers that save the same version: the second one is refused and keeps its text", async () => {
    const dashboard = shared.dashboard();
    await store(dashboard);
    const page = await dashboard.tab("/settings/terminal");
    await page.getByRole("textbox", { name: "terminal.timeout" }).fill("300");
    // The file changes between the last event and the request.
    await page.route("**/settings", async (route) => {
      if (route.request().method() === "PATCH") await store(dashboard, TEXT.replace("60", "90"));
      await route.continue();
    });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Changed elsewhere to 90").waitFor();
    await page.unroute("**/settings");
    expect(await page.getByRole("textbox", { name: "terminal.timeout" }).inputValue()).toBe("300");
    expect(await stored(dashboard)).toBe(TEXT.replace("60", "90"));
    await page.getByRole("button", { name: "Use that" }).click();
    expect(await page.getByRole("textbox", { name: "terminal.timeout" }).inputValue()).toBe("90");
  });

  test("B10: what is typed during a save stays, and the field that is being saved is locked", async () => {
    const dashboard = shared.dashboard();
    await store(dashboard);
    const page = await dashboard.tab("/settings/terminal");
    const timeout = page.getByRole("textbox", { name: "terminal.timeout" });
    const image = page.getByRole("textbox", { name: "terminal.docker_image" });
    await timeout.fill("300");
    let finish = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await page.route("**/settings", async (route) => {
      if (route.request().method() === "PATCH") await held;
      await route.continue();
    });
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => timeout.getAttribute("readonly")).toBe("");
    await image.fill("alpine:3");
    finish();
    await page.getByText("Saved 1 setting.").waitFor();
    await page.unroute("**/settings");
    expect([await timeout.inputValue(), await image.inputValue()]).toEqual(["300", "alpine:3"]);
    await page.getByText("1 change").waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
  });

  test("B11: a value that a variable fixes is shown with the variable and cannot be edited", async () => {
    const dashboard = shared.dashboard();
    await store(dashboard);
    await writeFile(join(dashboard.home.path, ".env"), "TERMINAL_TIMEOUT=77\n");
    const page = await dashboard.tab("/settings/terminal");
    await page.getByText("Fixed by TERMINAL_TIMEOUT in .env:1.").waitFor();
    const timeout = page.getByRole("textbox", { name: "terminal.timeout" });
    expect([await timeout.inputValue(), await timeout.isDisabled()]).toEqual(["77", true]);
    await writeFile(join(dashboard.home.path, ".env"), "");
    await expect.poll(() => timeout.isDisabled()).toBe(false); // without a reload
  });

  test("the text of config.yaml shows problems at their lines, is saved as it is, and shows both versions after a change elsewhere", async () => {
    const dashboard = shared.dashboard();
    await store(dashboard, TEXT.replace("local", "dokcer"));
    const page = await dashboard.tab("/settings?view=yaml");
    await page.getByText("config.yaml:4: terminal.backend expected one of").waitFor();
    await checkAppearance(page, "settings-yaml");
    const area = page.getByRole("textbox", { name: "Text of config.yaml" });
    await page.getByRole("button", { name: "Show line 4" }).click();
    await page.keyboard.type("  backend: podman");
    await page.getByRole("button", { name: "Save the text" }).click();
    await page.getByText("Saved config.yaml.").waitFor();
    expect(await stored(dashboard)).toBe(TEXT.replace("local", "podman"));
    await area.fill("terminal: {}\n");
    await store(dashboard, "# other\n");
    await page.getByText("config.yaml was changed elsewhere since you began to edit it.").waitFor();
    expect(await page.locator("pre").textContent()).toBe("# other\n");
    expect(await area.inputValue()).toBe("terminal: {}\n");
    await page.getByRole("button", { name: "Continue with mine" }).click();
    await page.getByRole("button", { name: "Save the text" }).click();
    await expect.poll(() => stored(dashboard)).toBe("terminal: {}\n");
  });

  test("a search finds settings of all sections by name and meaning", async () => {
    const dashboard = shared.dashboard();
    await store(dashboard);
    const page = await dashboard.tab("/settings");
    await page.getByRole("heading", { name: "model", exact: true }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("log level");
    await page.getByRole("combobox", { name: "logging.level" }).waitFor();
    expect(new URL(page.url()).searchParams.get("q")).toBe("log level");
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "model", exact: true }).waitFor();
  });
});
