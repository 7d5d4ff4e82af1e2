import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { cardOf, columnOf, openTestBoard, whenShown } from "../../support/dashboard-board.ts";
import {
  checkAppearance,
  findViolations,
  overflow,
  pageErrors,
  shareDashboard,
} from "../../support/dashboard-browser.ts";
import { fillBoard } from "../../support/fill-board.ts";
import { describeWith } from "../../support/services.ts";
import { tempFolder } from "../../support/temp-folder.ts";

describeWith("chromium", "the board", ({ executable }) => {
  const { dashboard } = shareDashboard(executable);

  test("B4: a card that is dragged in one browser moves in another and on the board, with no request but the stream", async () => {
    const board = await openTestBoard(dashboard());
    const task = await board.create("Write the release notes", "--assignee", "default");
    const [mine, other] = [await board.open(), await board.openElsewhere()];
    await board.create("Stays where it is", "--assignee", "default");
    await cardOf(other, "Stays where it is").waitFor(); // by the stream, which therefore follows the board now
    const untouched = await cardOf(other, "Stays where it is").elementHandle();
    const requests: string[] = [];
    other.on("request", (request) => requests.push(request.url()));
    await cardOf(mine, "Write the release notes").dragTo(columnOf(mine, "done"));
    await mine.getByRole("dialog").getByRole("textbox").fill("They are written");
    await mine.getByRole("dialog").getByRole("button", { name: "Complete" }).click();
    await mine.getByText("Moved to Done, 1 of 1").waitFor();
    await columnOf(other, "done").getByText("Write the release notes").waitFor();
    expect(await board.statusOf(task.id)).toBe("done");
    expect(requests).toEqual([]);
    // The other card is still the same element: only the moved card was drawn again.
    expect(await untouched?.evaluate((element) => element.isConnected)).toBe(true);
    await board.create("Created elsewhere");
    await columnOf(other, "ready").getByText("Created elsewhere").waitFor();
    expect(requests).toEqual([]);
    expect([...pageErrors(mine), ...pageErrors(other)]).toEqual([]);
  });

  test("an impossible drop says why, a refused move is reverted with the server's message, and a move is undone", async () => {
    const board = await openTestBoard(dashboard());
    const parent = await board.create("Comes first", "--assignee", "default");
    await board.create("Comes second", "--parent", parent.id);
    const page = await board.open();
    await cardOf(page, "Comes first").dragTo(columnOf(page, "running"));
    await page.getByText("was not moved: A dispatcher starts tasks that are ready.").waitFor();
    await cardOf(page, "Comes second").dragTo(columnOf(page, "ready"));
    await page.getByText("“Comes second” was not moved: It waits for #1 Comes first.").waitFor();
    await columnOf(page, "todo").getByText("Comes second").waitFor();
    await cardOf(page, "Comes first").dragTo(columnOf(page, "blocked"));
    await page.getByRole("dialog").getByRole("textbox").fill("Wait");
    await page.keyboard.press("Control+Enter");
    await columnOf(page, "blocked").getByText("Comes first").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await columnOf(page, "ready").getByText("Comes first").waitFor();
    await expect.poll(() => board.statusOf(parent.id)).toBe("ready");
  });

  test("B15: keyboard only: from the board to the answer of a blocked task", async () => {
    const board = await openTestBoard(dashboard(), "default"); // where the key for the board leads
    await board.create("Some other task", "--assignee", "default");
    const task = await board.create("Migrate the tables", "--assignee", "default");
    await board.kanban("block", task.id, "Drop the two rows?", "--kind", "needs_input");
    const page = await dashboard().tab();
    await page.getByText("Live", { exact: true }).waitFor({ state: "attached" });
    for (const key of ["g", "b"]) await page.keyboard.press(key);
    await cardOf(page, "Migrate the tables").waitFor();
    for (const key of ["j", "l", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("complementary", { name: `Task #${task.seq}` }).waitFor();
    await page.getByText("Drop the two rows?").first().waitFor();
    await page.keyboard.press("r");
    await page.keyboard.type("Keep them.");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Answered; the task continues.").waitFor();
    await page.keyboard.press("Escape"); // leaves the field
    await page.keyboard.press("Escape"); // closes the drawer
    await columnOf(page, "ready").getByText("Migrate the tables").waitFor();
    expect(await board.statusOf(task.id)).toBe("ready");
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await expect.poll(focused).toBe("Migrate the tables");
    // The focus follows the card when another process moves it.
    await board.kanban("block", task.id, "One more thing", "--kind", "needs_input");
    await columnOf(page, "blocked").getByText("Migrate the tables").waitFor();
    await expect.poll(focused).toBe("Migrate the tables");
  });

  test("keyboard only: moving, priority, selecting and the menu of a card; a move is announced once", async () => {
    const board = await openTestBoard(dashboard());
    await board.create("First", "--priority", "3", "--assignee", "default");
    await board.create("Second", "--assignee", "default");
    const page = await board.open();
    await cardOf(page, "First").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("2");
    await page.getByText("Priority 2", { exact: true }).last().waitFor();
    await page.keyboard.press("m");
    const menu = page.getByRole("menu", { name: "Second" });
    await menu.waitFor();
    expect(await menu.getByRole("menuitem", { name: /Running/ }).getAttribute("aria-disabled")).toBe("true");
    await page.keyboard.press("s"); // Scheduled
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Tomorrow, 9:00" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Schedule" }).click();
    const said = page.getByRole("status").getByText("Moved to Scheduled, 1 of 1");
    await said.waitFor();
    expect(await said.count()).toBe(1);
    await page.keyboard.press("Escape");
    await cardOf(page, "First").getByRole("link").focus();
    await page.keyboard.press("x");
    await page.getByText("1 selected").waitFor();
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByText("1 selected").waitFor({ state: "detached" });
  });

  test("several cards are changed at once, and each refused one is listed with its reason", async () => {
    const board = await openTestBoard(dashboard());
    for (const title of ["Alpha", "Beta"]) await board.create(title, "--assignee", "default");
    const waiting = await board.create("Gamma", "--parent", "1");
    const page = await board.open();
    for (const title of ["Alpha", "Beta", "Gamma"])
      await cardOf(page, title).click({ modifiers: ["Shift"], position: { x: 8, y: 60 } });
    await page.getByText("3 selected").waitFor();
    await page
      .getByRole("toolbar", { name: "Selected tasks" })
      .getByRole("button", { name: "Priority" })
      .click();
    await page.getByRole("menuitem", { name: "Priority 3" }).click();
    await page.getByText("Priority 3 · 3 tasks").waitFor();
    await page.getByRole("toolbar", { name: "Selected tasks" }).getByRole("button", { name: "Move" }).click();
    await page.getByRole("menuitem", { name: "Done", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Complete" }).click();
    await page.getByRole("dialog", { name: "Not changed" }).getByText("Gamma").waitFor();
    await page.getByRole("dialog").getByText("It has to be ready first.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await columnOf(page, "done").getByText("Beta").waitFor();
    expect(await board.statusOf(waiting.id)).not.toBe("done");
  });

  test("B5: every column can be reached at 320, 1024 and 1440 pixels, by mouse and by touch", async () => {
    const board = await openTestBoard(dashboard());
    await board.create("Ready one", "--assignee", "default");
    await board.create("Asks for help", "--triage");
    const done = await board.create("Done one");
    await board.kanban("complete", done.id, "--summary", "ok");
    for (const width of [1440, 1024]) {
      const page = await board.openElsewhere("", { size: { width, height: 800 } });
      for (const name of ["Triage", "Todo", "Scheduled", "Ready", "Running", "Blocked", "Review", "Done"]) {
        const section = page.getByRole("region", { name: new RegExp(`^${name}, `) });
        await section.scrollIntoViewIfNeeded();
        const rail = section.getByRole("button", { name: /open the column/ });
        if (await rail.count()) await rail.click();
        await section.getByRole("heading", { name }).waitFor();
      }
      expect(await overflow(page)).toBe(0);
    }
    const phone = await board.openElsewhere("", { size: { width: 320, height: 640 } });
    for (const [chip, title] of [
      ["Triage 1", "Asks for help"],
      ["Ready 1", "Ready one"],
      ["Done 1", "Done one"],
    ] as const) {
      await phone.getByRole("button", { name: chip }).click();
      await cardOf(phone, title).waitFor();
    }
    const more = await cardOf(phone, "Done one").getByRole("button").boundingBox();
    expect(Math.min(more?.width ?? 0, more?.height ?? 0)).toBeGreaterThanOrEqual(40);
    expect(await overflow(phone)).toBe(0);
  });

  test("B12: script, HTML, control characters and reversed text in titles, bodies and comments are text", async () => {
    const board = await openTestBoard(dashboard());
    const evil = `<img src=x onerror="document.title='owned'"><script>alert(1)</script> \u202egnp.exe`;
    const task = await board.create(evil, "--body", `[click](javascript:alert(1)) ${evil}`);
    await board.kanban("comment", task.id, `${evil} [link](javascript:alert(2))`);
    const page = await board.open();
    let dialogs = 0;
    page.on("dialog", (dialog) => {
      dialogs += 1;
      void dialog.dismiss();
    });
    await cardOf(page, "onerror").click();
    await page.getByRole("tabpanel").getByText("onerror").first().waitFor();
    expect(await page.locator("main img, aside img, aside script, a[href^='javascript:']").count()).toBe(0);
    expect(await page.title()).not.toBe("owned");
    expect(dialogs).toBe(0);
    expect(pageErrors(page)).toEqual([]);
  });

  test("B13: two boards in two tabs, and a late answer for one never appears in the other", async () => {
    const board = await openTestBoard(dashboard());
    const otherBoard = await openTestBoard(dashboard());
    await board.create("On the first board");
    await otherBoard.create("On the other board");
    const first = await board.open();
    const second = await first.context().newPage();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await second.route(`**/api/boards/${board.slug}/cards**`, async (route) => {
      await held;
      await route.continue().catch(() => undefined); // the page may have given the request up
    });
    await second.goto(`${dashboard().url}${board.path}`);
    await second.getByRole("heading", { level: 1 }).getByRole("button").click();
    await second.getByRole("menuitemradio", { name: new RegExp(otherBoard.slug, "i") }).click();
    await cardOf(second, "On the other board").waitFor();
    release();
    await otherBoard.create("Later on the other board");
    await cardOf(second, "Later on the other board").waitFor();
    expect(await cardOf(second, "On the first board").count()).toBe(0);
    await board.create("Later on the first board");
    await cardOf(first, "Later on the first board").waitFor();
    expect(await cardOf(first, "other board").count()).toBe(0);
  });

  test("filters are part of the address, apply to new tasks too, and work in another browser", async () => {
    const board = await openTestBoard(dashboard());
    await board.create("Fix the login", "--assignee", "default");
    await board.create("Draw a picture", "--assignee", "default");
    const page = await board.open();
    await page.keyboard.press("/");
    await page.keyboard.type("login");
    await cardOf(page, "Draw a picture").waitFor({ state: "detached" });
    await page.getByText("1 of 2 tasks").waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe("?q=login");
    await board.create("Paint the wall");
    await board.create("Another login");
    await cardOf(page, "Another login").waitFor();
    expect(await cardOf(page, "Paint the wall").count()).toBe(0);
    const other = await board.openElsewhere("?q=login");
    await cardOf(other, "Fix the login").waitFor();
    expect(await other.locator("[data-card]").count()).toBe(2);
    await other.getByRole("button", { name: "Clear filters" }).click();
    await cardOf(other, "Paint the wall").waitFor();
  });

  test("B14: every control of the dialog for a new task does what it shows", async () => {
    const board = await openTestBoard(dashboard());
    await using repository = await tempFolder();
    spawnSync("git", ["init", "-q", repository.path]);
    await board.create("Comes first");
    const page = await board.open();
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog", { name: "New task" });
    await dialog.getByLabel("Title").fill("With everything");
    await dialog.getByLabel("What to do").fill("A **body**");
    await dialog.getByLabel("Assignee").selectOption("default");
    await dialog.getByLabel("Priority").selectOption("2");
    await dialog.getByLabel("Starts after").fill("first");
    await dialog.getByRole("option", { name: "Start after Comes first" }).click();
    await dialog.getByLabel("Starts", { exact: true }).selectOption({ label: "When released" });
    await dialog.getByText("More", { exact: true }).click();
    await dialog.getByLabel("Works in").selectOption({ label: "A git worktree of this repository" });
    await dialog.getByLabel("Path").fill(repository.path);
    await dialog.getByLabel("Branch").fill("fix/it");
    await dialog.getByLabel("Model").fill("some-model");
    await dialog.getByLabel("Provider").fill("openai");
    await dialog.getByLabel("Reasoning effort").selectOption({ label: "High" });
    await dialog.getByLabel("Tenant").fill("acme");
    await dialog.getByLabel("Maximum run time, in minutes").fill("30");
    await dialog.getByLabel("Attempts").fill("2");
    await dialog.getByLabel("Skills").fill("one, two");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByText(/Created #2/).waitFor();
    expect(await board.show("2")).toMatchObject({
      task: {
        title: "With everything",
        body: "A **body**",
        assignee: "default",
        priority: 2,
        hold: true,
        status: "todo",
        workspace_kind: "worktree",
        workspace_path: repository.path,
        branch_name: "fix/it",
        model_override: "some-model",
        provider_override: "openai",
        reasoning_effort: "high",
        tenant: "acme",
        max_runtime_seconds: 1_800,
        max_retries: 2,
        skills: ["one", "two"],
      },
    });
    await page.keyboard.press("c");
    await dialog.getByLabel("Title").fill("Later");
    await dialog.getByLabel("Starts", { exact: true }).selectOption({ label: "At" });
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("This time has passed.").waitFor();
    await dialog.getByLabel("Starts at").fill("2199-01-01T09:00");
    await dialog.getByLabel("Create another").check();
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByText(/Created #3/).waitFor();
    expect(await board.statusOf("3")).toBe("scheduled");
    await dialog.getByLabel("Title").fill("Vague");
    await dialog.getByLabel("Starts", { exact: true }).selectOption({ label: "After it is specified" });
    await dialog.getByLabel("Create another").uncheck();
    await dialog.getByRole("button", { name: "Create" }).click();
    await columnOf(page, "triage").getByText("Vague").waitFor();
  });

  test("10,000 tasks: the page has as many elements as with 1,000, and every one of them can be scrolled to", async () => {
    await fillBoard(dashboard().home, "small", 1_000);
    await fillBoard(dashboard().home, "large", 10_000);
    const nodes: number[] = [];
    for (const [slug, count] of [
      ["small", "999"],
      ["large", "9,999"],
    ] as const) {
      const page = await whenShown(await dashboard().tab(`/board/${slug}`));
      const done = page.getByRole("region", { name: new RegExp(`^Done, ${count} tasks`) });
      await done.getByRole("link").first().waitFor();
      nodes.push(await page.evaluate(() => document.querySelectorAll("*").length));
      const cards = done.locator("[data-scroll-restoration-id]");
      const height = await cards.evaluate((box) => box.scrollHeight);
      await cards.evaluate((box) => {
        box.scrollTop = box.scrollHeight;
      });
      const last = Number(count.replace(",", "")) + 1;
      await cardOf(page, `Done ${last}`).waitFor();
      // The scroll height was right from the start.
      expect(await cards.evaluate((box) => box.scrollHeight)).toBe(height);
      nodes.push(await page.evaluate(() => document.querySelectorAll("*").length));
      expect(pageErrors(page)).toEqual([]);
    }
    const [few = 0, fewEnd = 0, many = 0, manyEnd = 0] = nodes;
    expect(many).toBeLessThanOrEqual(few * 1.2);
    expect(manyEnd).toBeLessThanOrEqual(fewEnd * 1.2);
  });

  test("the board, the list and the graph are accessible and fit in both themes and sizes", async () => {
    const board = await openTestBoard(dashboard());
    const first = await board.create(
      "Fix the login redirect on Safari",
      "--assignee",
      "default",
      "--priority",
      "3",
    );
    await board.create("Test the login flow on three browsers", "--parent", first.id, "--priority", "2");
    await board.create(
      "Add the missing index to the audit table",
      "--assignee",
      "default",
      "--priority",
      "1",
    );
    const asks = await board.create("Migrate the billing tables", "--assignee", "default");
    await board.kanban(
      "block",
      asks.id,
      "Two rows have no customer. Drop them, or keep them?",
      "--kind",
      "needs_input",
    );
    const done = await board.create("Compress old worker logs", "--assignee", "default");
    await board.kanban("complete", done.id, "--summary", "compressed");
    const page = await board.open();
    await cardOf(page, "Fix the login").waitFor();
    await checkAppearance(page, "board");
    await page.goto(`${dashboard().url}${board.path}?view=list`);
    await page.getByRole("row").nth(3).waitFor();
    for (const key of ["j", "ArrowDown", "k", "j"]) await page.keyboard.press(key);
    expect(await page.evaluate("document.activeElement.textContent")).toBe(
      "Fix the login redirect on Safari",
    );
    expect(await findViolations(page)).toEqual([]);
    await page.goto(`${dashboard().url}${board.path}?view=graph`);
    await page.getByRole("link", { name: /Test the login flow/ }).waitFor();
    await checkAppearance(page, "board-graph");
    await page.goto(`${dashboard().url}${board.path}`);
    await page.getByRole("button", { name: /New task/ }).click();
    await page.getByRole("dialog").waitFor();
    await checkAppearance(page, "board-new-task");
    expect(pageErrors(page)).toEqual([]);
  });
});
