import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkAppearance, pageErrors, shareDashboard } from "../../support/dashboard-browser.ts";
import { describeWith } from "../../support/services.ts";

describeWith("chromium", "Profiles", ({ executable }) => {
  const shared = shareDashboard(executable);

  test("B14: a profile is created with what the dialog shows, described, used for commands, shown and deleted", async () => {
    const dashboard = shared.dashboard();
    const { home } = dashboard;
    const file = (path: string): string => join(home.path, path);
    await writeFile(file("config.yaml"), "terminal:\n  timeout: 77\nplatforms:\n  irc:\n    nickname: bot\n");
    await writeFile(file(".env"), "ANTHROPIC_API_KEY=key-of-default-012345\n");
    const page = await dashboard.tab("/profiles");
    await page.getByRole("button", { name: "New profile" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name" }).fill("Not a name!");
    await dialog.getByRole("button", { name: "Create the profile" }).click();
    await dialog.getByRole("alert").waitFor();
    expect(await dialog.getByRole("textbox", { name: "Name" }).inputValue()).toBe("Not a name!");
    await dialog.getByRole("textbox", { name: "Name" }).fill("writer");
    await dialog.getByRole("textbox", { name: "What it is for" }).fill("writes texts");
    await dialog.getByRole("combobox", { name: "Copy from" }).selectOption("default");
    await dialog.getByRole("button", { name: "Create the profile" }).click();
    await page.getByText("writes texts").waitFor();
    // Settings and keys are copied, messaging accounts only on purpose.
    expect(await readFile(file("profiles/writer/config.yaml"), "utf8")).toBe("terminal:\n  timeout: 77\n");
    expect(await readFile(file("profiles/writer/.env"), "utf8")).toContain("key-of-default-012345");

    await writeFile(file("profiles/writer/notes.txt"), "mine");
    await writeFile(file("profiles/writer/config.yaml"), "platforms:\n  irc:\n    nickname: bot\n");
    await page.getByRole("button", { name: "More actions for writer" }).click();
    await page.getByRole("menuitem", { name: "Clone…" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("copy");
    expect(await dialog.getByRole("combobox", { name: "Copy from" }).inputValue()).toBe("writer");
    await dialog.getByRole("checkbox", { name: /^Copy everything/ }).check();
    await dialog.getByRole("checkbox", { name: /^Also copy messaging accounts/ }).check();
    await dialog.getByRole("button", { name: "Create the profile" }).click();
    await page.getByText("Created copy.").waitFor();
    expect(await readFile(file("profiles/copy/notes.txt"), "utf8")).toBe("mine");
    expect(await readFile(file("profiles/copy/config.yaml"), "utf8")).toContain("nickname: bot");

    await page.getByRole("button", { name: "More actions for writer" }).click();
    await page.getByRole("menuitem", { name: "Describe…" }).click();
    await dialog.getByRole("textbox", { name: "What it is for" }).fill("writes long texts");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("writes long texts").waitFor();
    await page.getByRole("button", { name: "Use for commands: writer" }).click();
    await expect.poll(() => readFile(file("active_profile"), "utf8")).toBe("writer\n");
    await checkAppearance(page, "profiles");

    // The switcher decides whose pages are shown.
    await page.getByRole("button", { name: "Show its pages: writer" }).click();
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("heading", { name: "Settings of writer" }).waitFor();
    expect(await page.title()).toContain("writer");
    await page.getByRole("link", { name: "Profiles" }).click();

    await page.getByRole("button", { name: "More actions for default" }).click();
    await page.getByText("The default profile is the home itself").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "More actions for writer" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await dialog.getByText("kept for thirty days").waitFor();
    const remove = dialog.getByRole("button", { name: "Delete the profile" });
    expect(await remove.isDisabled()).toBe(true);
    await dialog.getByRole("textbox", { name: "Type writer to delete it" }).fill("writer");
    await checkAppearance(page, "profiles-delete");
    await remove.click();
    await page.getByText("Deleted writer.").waitFor();
    await expect.poll(() => page.getByText("writes long texts").count()).toBe(0);
    await expect(access(file("profiles/writer"))).rejects.toThrow("ENOENT");
    expect(new URL(page.url()).searchParams.get("profile")).toBeNull();
    expect(pageErrors(page)).toEqual([]);
  });

  test("a profile with a running task is not deleted, and the dialog says why", async () => {
    const dashboard = shared.dashboard();
    const { home } = dashboard;
    await home.hermes(["profile", "create", "coder"]);
    await home.hermes(["kanban", "create", "Build it", "--assignee", "coder"]);
    const claimed = await home.hermes(["kanban", "claim", "1"]);
    expect([claimed.exitCode, claimed.stderr]).toEqual([0, expect.any(String)]);
    const page = await dashboard.tab("/profiles");
    await page.getByRole("button", { name: "More actions for coder" }).click(); // created elsewhere
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByText("is running as coder").waitFor();
    expect(await page.getByRole("button", { name: "Delete the profile" }).isDisabled()).toBe(true);
  });
});
