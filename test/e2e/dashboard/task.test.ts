import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { runLogPath } from "../../../src/board/supervisor/log/run-log.ts";
import { type BoardTask, openTestBoard, type TestBoard } from "../../support/dashboard-board.ts";
import { checkAppearance, pageErrors, shareDashboard } from "../../support/dashboard-browser.ts";
import { describeWith } from "../../support/services.ts";

/** Opens a task in the shared page or in another browser. */
async function openTask(
  { path }: TestBoard,
  { id, seq }: BoardTask,
  open: (path: string) => Promise<Page>,
): Promise<{ page: Page; drawer: Locator }> {
  const page = await open(`${path}/${id}`);
  const drawer = page.getByRole("complementary", { name: `Task #${seq}` });
  await drawer.waitFor();
  return { page, drawer };
}

describeWith("chromium", "a task", ({ executable }) => {
  const { dashboard } = shareDashboard(executable);

  test("two people edit one title: the later one sees both versions and decides", async () => {
    const board = await openTestBoard(dashboard());
    const task = await board.create("Fix the login", "--body", "As it was");
    const [mine, theirs] = [
      await openTask(board, task, dashboard().tab),
      await openTask(board, task, dashboard().page),
    ];
    for (const { drawer } of [mine, theirs])
      await drawer.getByRole("button", { name: "Fix the login" }).click();
    await mine.drawer.getByLabel("Title").fill("Fix the login on Safari");
    await theirs.drawer.getByLabel("Title").fill("Fix the login everywhere");
    await theirs.page.keyboard.press("Enter");
    await theirs.drawer.getByRole("heading", { name: "Fix the login everywhere" }).waitFor();
    const conflict = mine.drawer.getByRole("alert");
    await conflict.getByText("This changed elsewhere while you were editing.").waitFor();
    await conflict.getByText("Fix the login everywhere").waitFor();
    await conflict.getByText("Fix the login on Safari").waitFor();
    expect((await board.show(task.id)).task.title).toBe("Fix the login everywhere");
    await mine.drawer.getByRole("button", { name: "Save mine" }).click();
    await mine.drawer.getByRole("heading", { name: "Fix the login on Safari" }).waitFor();
    await theirs.drawer.getByRole("heading", { name: "Fix the login on Safari" }).waitFor();
    expect((await board.show(task.id)).task.title).toBe("Fix the login on Safari");
  });

  test("a draft survives changes elsewhere, closing the drawer, a new page and a restart of the server", async () => {
    const board = await openTestBoard(dashboard());
    const task = await board.create("Write it down", "--body", "As it was");
    const { page, drawer } = await openTask(board, task, dashboard().tab);
    await drawer.getByRole("tabpanel").getByRole("button", { name: "Edit", exact: true }).click();
    const body = drawer.getByLabel("What to do").last();
    await body.fill("Half a sentence");
    await drawer.getByLabel("Write a comment.").or(drawer.getByLabel("Message")).fill("Half a comment");
    await board.kanban("comment", task.id, "From elsewhere");
    await drawer.getByText("From elsewhere").waitFor();
    expect(await body.inputValue()).toBe("Half a sentence");
    await drawer.getByRole("button", { name: "Close" }).click();
    await drawer.waitFor({ state: "detached" });
    await dashboard().restart();
    await page.goto(`${dashboard().url}${board.path}/${task.id}`);
    await drawer.getByText("Not saved yet").waitFor();
    expect(await body.inputValue()).toBe("Half a sentence");
    expect(await drawer.getByLabel("Message").inputValue()).toBe("Half a comment");
    // The comment changed the task after the draft was started, but that is no conflict with the text.
    await body.focus();
    await page.keyboard.press("Control+Enter");
    await page.getByText("Saved", { exact: true }).waitFor();
    expect((await board.show(task.id)).task.body).toBe("Half a sentence");
  });

  test("a task is blocked, answered, sent to review, sent back, completed and reopened from the drawer", async () => {
    const board = await openTestBoard(dashboard());
    await dashboard().home.hermes(["profile", "create", "reviewer"]);
    const task = await board.create("Go through it all", "--assignee", "default");
    const { page, drawer } = await openTask(board, task, dashboard().tab);
    const choose = async (name: string | RegExp): Promise<void> => {
      await drawer.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name }).click();
    };
    const state = (name: string): Promise<void> => drawer.getByText(name, { exact: true }).first().waitFor();
    await choose("Block…");
    await page.getByRole("dialog").getByLabel("Why it is blocked").fill("Which colour?");
    await page.keyboard.press("Control+Enter");
    await state("Blocked");
    await drawer.getByLabel("Your answer. The task continues with it.").fill("Green");
    await drawer.getByRole("button", { name: "Answer" }).click();
    await state("Ready");
    await choose("Ask for a review…");
    await page.getByRole("dialog").getByLabel("Reviewer").selectOption("reviewer");
    await page.getByRole("dialog").getByRole("button", { name: "Ask for review" }).click();
    await state("Review");
    await choose("Send back…");
    await page.getByRole("dialog").getByLabel("What has to change").fill("A darker green");
    await page.getByRole("dialog").getByRole("button", { name: "Send back" }).click();
    await state("Ready");
    await choose("Hold");
    await drawer.getByText("It is on hold.").waitFor();
    await choose("Release hold");
    await choose("Complete…");
    await page
      .getByRole("dialog")
      .getByLabel(/Summary/)
      .fill("Painted");
    await page.getByRole("dialog").getByRole("button", { name: "Complete" }).click();
    await state("Done");
    await choose("Reopen…");
    await page.getByRole("dialog").getByRole("button", { name: "Reopen" }).click();
    await state("Ready");
    await choose("Archive…");
    await page.getByRole("dialog").getByRole("button", { name: "Archive" }).click();
    await state("Archived");
    await drawer.getByRole("tab", { name: "Events" }).click();
    await drawer
      .getByText(/review/)
      .first()
      .waitFor();
    expect(await board.statusOf(task.id)).toBe("archived");
    expect(pageErrors(page)).toEqual([]);
  });

  test("a dependency is added, leads to the other task, and is removed", async () => {
    const board = await openTestBoard(dashboard());
    const first = await board.create("Comes first");
    const second = await board.create("Comes second");
    const { page, drawer } = await openTask(board, second, dashboard().tab);
    await drawer.getByRole("button", { name: "Start after…" }).click();
    await drawer.getByLabel("Starts after").fill("first");
    await drawer.getByRole("option", { name: "Start after Comes first" }).click();
    await drawer.getByText(/It waits for #1 Comes first/).waitFor();
    expect(await board.statusOf(second.id)).toBe("todo");
    await drawer.getByRole("link", { name: "Comes first" }).click();
    await page.getByRole("complementary", { name: `Task #${first.seq}` }).waitFor();
    await page.goBack();
    await drawer.getByRole("button", { name: `Do not wait for #${first.seq}` }).click();
    await drawer.getByRole("link", { name: "Comes first" }).waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
  });

  test("B19: a run whose process has exited is shown with its error, and the task with its possible actions", async () => {
    const board = await openTestBoard(dashboard());
    const task = await board.create("Fails at once", "--assignee", "default", "--max-retries", "1");
    // Without a model the worker fails, as it does when its process dies.
    await dashboard().home.hermes(["kanban", "--board", board.slug, "dispatch"], { ownProcess: true });
    await expect.poll(async () => await board.statusOf(task.id)).toBe("blocked");
    const { page, drawer } = await openTask(board, task, dashboard().tab);
    await drawer.getByRole("region", { name: "It failed" }).waitFor();
    await drawer.getByRole("tab", { name: /Runs/ }).click();
    await drawer.getByRole("tabpanel").getByText(/:/).first().waitFor();
    await drawer.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Try again" }).click();
    await drawer.getByText("Ready", { exact: true }).first().waitFor();
    expect(pageErrors(page)).toEqual([]);
  });

  test("B7, B8: the log of a run follows its end, stays put after scrolling up, and shows 40,000 lines with few elements", async () => {
    const board = await openTestBoard(dashboard());
    const task = await board.create("Runs for long", "--assignee", "default");
    await board.kanban("claim", task.id);
    const path = runLogPath(dashboard().home.path, board.slug, task.id, 1);
    await mkdir(dirname(path), { recursive: true });
    const lines = (from: number, to: number): string =>
      Array.from({ length: to - from }, (_, index) => `\x1b[32mline ${from + index}\x1b[0m\n`).join("");
    await writeFile(path, lines(0, 1_000));
    const page = await dashboard().tab(`${board.path}/${task.id}?tab=log`);
    const log = page.getByRole("log");
    await log.getByText("line 999", { exact: true }).waitFor();
    await appendFile(path, "the newest line\n");
    await log.getByText("the newest line").waitFor();
    await log.evaluate((box) => {
      box.scrollTop = 0;
    });
    await page.getByRole("button", { name: "To the end" }).waitFor();
    const before = await log.evaluate((box) => box.scrollTop);
    await appendFile(path, lines(1_000, 1_010));
    await page.getByRole("button", { name: "10 new lines" }).waitFor();
    expect(await log.evaluate((box) => box.scrollTop)).toBe(before);
    await page.getByRole("button", { name: "10 new lines" }).click();
    await log.getByText("line 1009", { exact: true }).waitFor();
    await appendFile(path, lines(2_000, 42_000));
    await log.getByText("line 41999", { exact: true }).waitFor();
    expect(await log.locator("div > div").count()).toBeLessThanOrEqual(100);
    expect(pageErrors(page)).toEqual([]);
  });

  test("files are attached, downloaded and removed", async () => {
    const board = await openTestBoard(dashboard());
    const task = await board.create("Has files");
    const { page, drawer } = await openTask(board, task, dashboard().tab);
    const name = "<b>notes<i>.txt";
    await drawer
      .getByLabel("Attach")
      .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from("hello") });
    const link = drawer.getByRole("link", { name });
    await link.waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe("hello");
    await drawer.getByRole("button", { name: `Remove ${name}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await link.waitFor({ state: "detached" });
    expect(pageErrors(page)).toEqual([]);
  });

  test("a task that does not exist is reported, and closing it leads back to the board", async () => {
    const board = await openTestBoard(dashboard());
    const page = await dashboard().tab(`${board.path}/t_ffffffffffff`);
    await page.getByText("There is no such task on this board.").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("No tasks yet").waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe(board.path);
  });

  test("the drawer is accessible and fits in both themes and sizes", async () => {
    const board = await openTestBoard(dashboard());
    const first = await board.create("Reproduce it in a test");
    const body = "After signing in, Safari lands on `/`.\n\n- keep *old* links\n- say **what** changed";
    const task = await board.create(
      "Fix the login redirect on Safari",
      "--assignee",
      "default",
      "--body",
      body,
    );
    await board.kanban("link", first.id, task.id);
    await board.kanban("comment", task.id, "Please keep the old links working.");
    await board.create("Publish it", "--parent", task.id);
    const { page, drawer } = await openTask(board, task, dashboard().tab);
    await drawer.getByText("Please keep the old links working.").waitFor();
    await drawer
      .getByText(/It waits for/)
      .first()
      .waitFor();
    await checkAppearance(page, "task");
    await drawer.getByRole("tab", { name: "Events" }).click();
    await drawer
      .getByText(/created/)
      .first()
      .waitFor();
    await checkAppearance(page, "task-events");
    expect(pageErrors(page)).toEqual([]);
  });
});
