import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ENTRY } from "../../support/built-program.ts";
import { checkAppearance, pageErrors, shareDashboard } from "../../support/dashboard-browser.ts";
import { createEngineClient } from "../../support/engine-client.ts";
import { scale } from "../../support/scale.ts";
import { describeWith, pathOf } from "../../support/services.ts";

const MAX_CHUNK_BYTES = 90_000;
const MEGABYTE = 1_024 * 1_024;

describeWith("chromium", "terminals in the browser", ({ executable }) => {
  describeWith("docker", "with Docker", ({ client, host, socket, images }) => {
    const env = {
      PATH: pathOf(client),
      DOCKER_HOST: host,
      TERMINAL_ENV: "docker",
      TERMINAL_DOCKER_IMAGE: images.bash,
      TERMINAL_DOCKER_NETWORK: "off",
      TERMINAL_CONTAINER_DISK: "0",
      HERMES_MODEL_PROVIDER: "scripted",
    };
    const shared = shareDashboard(executable, env);
    const quick = createEngineClient(socket);
    const profileId = async () =>
      (await readFile(join(shared.dashboard().home.path, "profile-id"), "utf8")).trim();
    const processes = async (): Promise<string> => {
      const [id = ""] = await quick.containersOf(await profileId());
      return quick.top(id);
    };
    const run = async (args: readonly string[]): Promise<string> => {
      const { stdout, stderr, exitCode } = await shared
        .dashboard()
        .home.hermes(args, { env, ownProcess: true });
      if (exitCode !== 0) throw new Error(stderr);
      return stdout;
    };
    /** The processes that the server has started in terminals and that still run. */
    const children = (): string[] =>
      execFileSync("ps", ["-eo", "ppid=,args="], { encoding: "utf8" })
        .split("\n")
        .filter((line) => line.trim().startsWith(`${shared.dashboard().pid} `) && line.includes(ENTRY));
    const memoryOf = (pid: number): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;
    const screen = (page: Page) => page.locator(".xterm-rows");
    const shows = (page: Page, text: string) =>
      expect.poll(() => screen(page).innerText(), { timeout: 60_000 }).toContain(text);
    /** The list may also have containers of other programs, which other tests create. */
    const openSandbox = (page: Page) =>
      page.locator("[data-row-of=sandboxes]", { hasText: images.bash }).click();
    const openShell = async (page: Page): Promise<void> => {
      await openSandbox(page);
      await page.getByRole("button", { name: "Terminal", exact: true }).click();
      await page.getByText("Shift+Esc leaves the terminal").waitFor();
    };
    beforeAll(async () => {
      const { home } = shared.dashboard();
      const script = join(home.folder, "script.json");
      const answers = [
        { text: "Slowly, one word after the other, until the very end.", chunk: 4, delay_ms: 60 },
      ];
      await writeFile(script, JSON.stringify({ answers }));
      await run(["config", "set", "model.default", script]);
      await run(["sandbox", "exec", "--", "true"]);
    });
    afterAll(async () => {
      const id = await profileId();
      await quick.remove(await quick.containersOf(id));
    });

    test("B16: a shell in a sandbox survives a reload with its screen, and nothing is left after closing it", async () => {
      const page = await shared.dashboard().tab("/sandboxes");
      await openShell(page);
      await page.keyboard.type("PS1='ready> '; echo $((6*7))\n");
      await shows(page, "42");
      await page.keyboard.type("stty size; x=kept\n");
      await shows(page, "ready> ");
      await checkAppearance(page, "terminal");
      await page.reload();
      await shows(page, "42");
      await page.locator(".xterm-helper-textarea").focus();
      await page.keyboard.type("echo $x-$x\n");
      await shows(page, "kept-kept");
      await page.setViewportSize({ width: 390, height: 844 });
      await page.keyboard.type("while sleep 0.2; do stty size; done\n");
      await expect.poll(() => screen(page).innerText()).toMatch(/\n\d\d 4\d\n/);
      expect(children().length).toBe(1);
      await page.getByRole("button", { name: "Close", exact: true }).click();
      await page.getByText("No terminals are open.").waitFor();
      expect(children()).toEqual([]);
      await expect.poll(processes).not.toMatch(/stty|bash$/m);
      expect(pageErrors(page)).toEqual([]);
    });

    test("a flood of output ends, the page takes input meanwhile, and the memory of the server stays flat", async () => {
      const dashboard = shared.dashboard();
      const page = await dashboard.tab("/sandboxes");
      await openShell(page);
      const before = memoryOf(dashboard.pid);
      await page.keyboard.type(`yes flooding | head -c ${scale.terminalFloodBytes}; echo end-$((40+2))\n`);
      await shows(page, "flooding");
      await page.keyboard.type("echo typed-$((1+1))\n");
      await expect.poll(() => screen(page).innerText(), { timeout: 90_000 }).toMatch(/end-42[\s\S]*typed-2/);
      expect(memoryOf(dashboard.pid) - before).toBeLessThan(64 * MEGABYTE);
      // A flood that nobody sees is read slowly; leaving the page does not end it.
      await page.keyboard.type("yes unseen\n");
      await shows(page, "unseen");
      await page.keyboard.press("Shift+Escape");
      await page.getByRole("link", { name: "Sandboxes", exact: true }).first().click();
      await page.getByRole("link", { name: "Shell · default" }).click();
      await shows(page, "unseen");
      await page.getByRole("button", { name: "Close", exact: true }).click();
      await expect.poll(processes).not.toContain("yes unseen");
      await expect.poll(children).toEqual([]);
      expect(memoryOf(dashboard.pid) - before).toBeLessThan(64 * MEGABYTE);
    });

    test("a job on a terminal gets what is typed, keeps running when its terminal is closed, and the chunk is small", async () => {
      const id = (
        await run(["sandbox", "jobs", "start", "--pty", "--", "while read line; do echo got-$line; done"])
      ).trim();
      const page = await shared.dashboard().tab("/sandboxes");
      await openSandbox(page);
      await page.getByRole("button", { name: "Attach" }).click();
      await shows(page, "attached to");
      await page.keyboard.type("hello\n");
      await shows(page, "got-hello");
      await page.getByRole("button", { name: "Close", exact: true }).click();
      await page.getByText("No terminals are open.").waitFor();
      expect(await run(["sandbox", "jobs"])).toContain(id);
      await run(["sandbox", "jobs", "kill", id]);
      const assets = join(ENTRY, "../dashboard/assets");
      const page_ = readFileSync(join(ENTRY, "../dashboard/index.html"), "utf8");
      expect(page_).not.toContain("terminal-screen");
      const sizes = readdirSync(assets)
        .filter((name) => /^terminal-screen-.*\.js$/.test(name))
        .map((name) => gzipSync(readFileSync(join(assets, name))).length);
      expect(Math.max(...sizes)).toBeLessThan(MAX_CHUNK_BYTES);
    });

    test("a turn of the chat in a terminal goes on without the page, and its answer is there on returning", async () => {
      const dashboard = shared.dashboard();
      const page = await dashboard.page("/sandboxes");
      await page.getByRole("button", { name: "Chat in a terminal" }).click();
      await page.getByText("Shift+Esc leaves the terminal").waitFor();
      await shows(page, "/help");
      await page.keyboard.type("Tell me\r");
      await shows(page, "Slowly");
      const address = page.url();
      await page.context().close();
      const again = await dashboard.page(new URL(address).pathname);
      await shows(again, "until the very end.");
      await checkAppearance(again, "terminal-chat");
      await again.getByRole("button", { name: "Close", exact: true }).click();
      await again.getByText("No terminals are open.").waitFor();
      await expect.poll(children).toEqual([]);
    });
  });
});
