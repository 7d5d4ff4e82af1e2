import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { checkAppearance, pageErrors, shareDashboard } from "../../support/dashboard-browser.ts";
import { createEngineClient } from "../../support/engine-client.ts";
import { scale } from "../../support/scale.ts";
import { describeWith, pathOf } from "../../support/services.ts";

describeWith("chromium", "the Sandboxes page", ({ executable }) => {
  describeWith("docker", "with Docker", ({ client, host, socket, images }) => {
    const env = {
      PATH: pathOf(client),
      DOCKER_HOST: host,
      TERMINAL_ENV: "docker",
      TERMINAL_DOCKER_IMAGE: images.bash,
      TERMINAL_DOCKER_NETWORK: "off",
      TERMINAL_CONTAINER_DISK: "0",
      TERMINAL_CONTAINER_MEMORY: "256",
    };
    const shared = shareDashboard(executable, env);
    const quick = createEngineClient(socket);
    const profileId = async () =>
      (await readFile(join(shared.dashboard().home.path, "profile-id"), "utf8")).trim();
    const docker = (...args: string[]): string =>
      execFileSync(client, args, { env: { ...process.env, DOCKER_HOST: host }, encoding: "utf8" }).trim();
    const inSandbox = async (task: string, command: string): Promise<string> => {
      const args = ["sandbox", "exec", "--task", task, "--", command];
      const { stdout, stderr, exitCode } = await shared.dashboard().home.hermes(args, { env });
      if (exitCode !== 0) throw new Error(stderr);
      return stdout;
    };
    /** The processes that the server has started and that still run. */
    const childrenOf = (pid: number): string[] =>
      execFileSync("ps", ["-eo", "ppid=,args="], { encoding: "utf8" })
        .split("\n")
        .filter((line) => line.trim().startsWith(`${pid} `));
    const row = (page: Page, name: string) => page.locator("[data-row-of=sandboxes]", { hasText: name });
    const confirm = (page: Page, name: string) =>
      page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
    let foreign = "";
    afterAll(async () => {
      if (foreign !== "") docker("rm", "--force", foreign);
      const id = await profileId();
      await quick.remove(await quick.containersOf(id));
      await quick.removeImagesOf(id);
    });

    test("sandboxes, those of other programs, load and isolation are shown", async () => {
      const dashboard = shared.dashboard();
      await inSandbox("default", "echo kept > /root/file");
      const labels = ["--label", "hermes-agent=1", "--label", "hermes-profile=default"];
      foreign = docker("run", "-d", ...labels, images.busybox, "sleep", "600");
      const page = await dashboard.tab("/sandboxes");
      await row(page, "another program").waitFor();
      await row(page, "default")
        .getByRole("img", { name: /^Memory/ })
        .waitFor();
      expect(childrenOf(dashboard.pid).filter((line) => line.includes(" stats ")).length).toBe(1);
      expect(childrenOf(dashboard.pid).filter((line) => line.includes(" events ")).length).toBe(1);
      await checkAppearance(page, "sandboxes");
      await row(page, "default").click();
      await page.getByRole("heading", { level: 1, name: "default / default" }).waitFor();
      await page.getByText("no new privileges").waitFor();
      await page.getByRole("img", { name: /^CPU, last ten minutes; now \d/ }).waitFor();
      await checkAppearance(page, "sandbox");
      await row(page, "another program").click();
      await page.getByText("so it is only shown here").waitFor();
      expect(await page.getByRole("button", { name: "Stop" }).count()).toBe(0);
      expect(pageErrors(page)).toEqual([]);
    });

    test.runIf(scale.awaitsUnseenTopics)(
      "events and load are followed only while a page shows them",
      async () => {
        const dashboard = shared.dashboard();
        const page = await dashboard.tab("/sandboxes");
        await row(page, "default").waitFor();
        expect(childrenOf(dashboard.pid).some((line) => / (stats|events) /.test(line))).toBe(true);
        await page.goto(`${dashboard.url}/board`);
        await expect
          .poll(() => childrenOf(dashboard.pid).filter((line) => / (stats|events) /.test(line)), {
            timeout: 60_000,
          })
          .toEqual([]);
      },
    );

    test("a job is started, named by the dialog of a stop as what it ends, and ended with it", async () => {
      const dashboard = shared.dashboard();
      const page = await dashboard.tab("/sandboxes");
      await row(page, "default").click();
      await page.getByRole("button", { name: "Start a job" }).click();
      await page.getByRole("textbox", { name: "Command" }).fill("sleep 777");
      await confirm(page, "Start a job");
      await page.getByText("sleep 777").first().waitFor();
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await page.getByRole("dialog").getByText("job sleep 777").waitFor();
      await checkAppearance(page, "sandbox-stop");
      // What is started while the dialog is open is not ended without the person.
      await inSandbox("default", "true");
      const second = await dashboard.home.hermes(["sandbox", "jobs", "start", "--", "sleep 778"], {
        env,
        ownProcess: true,
      });
      expect(second.exitCode).toBe(0);
      await confirm(page, "Stop");
      await page
        .getByText(/Nothing was ended, because the sandbox is now used by something else: job sleep 778/)
        .waitFor();
      await page.getByRole("dialog").getByText("job sleep 778").waitFor();
      await confirm(page, "Stop");
      await page.getByText(/is stopped\./).waitFor();
      const [id = ""] = await quick.containersOf(await profileId());
      expect(docker("container", "inspect", "--format", "{{.State.Status}}", id)).toBe("exited");
      expect(pageErrors(page)).toEqual([]);
    });

    test("snapshot, fork and restore bring files back, and what another program removes disappears from the list", async () => {
      const dashboard = shared.dashboard();
      await inSandbox("default", "echo first > /root/file");
      const page = await dashboard.tab("/sandboxes");
      await row(page, "default").click();
      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: "Take a snapshot" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("before");
      await confirm(page, "Snapshot");
      await page.getByText("Saved as before.").waitFor();
      await inSandbox("default", "echo second > /root/file");
      await page.getByRole("button", { name: "Restore" }).click();
      await confirm(page, "Restore");
      await page.getByText(/has the files of the snapshot/).waitFor();
      expect(await inSandbox("default", "cat /root/file")).toBe("first\n");
      await page.getByRole("button", { name: "Fork", exact: true }).first().click();
      await page.getByRole("textbox", { name: "New task" }).fill("copy");
      await confirm(page, "Fork");
      await page.getByRole("heading", { level: 1, name: "default / copy" }).waitFor();
      expect(await inSandbox("copy", "cat /root/file")).toBe("first\n");
      await page.goto(`${dashboard.url}/sandboxes`);
      await row(page, "copy").waitFor();
      const fork = docker(
        "ps",
        "-aq",
        "--filter",
        `label=hermes-profile-id=${await profileId()}`,
        "--filter",
        "label=hermes-task=copy",
      );
      docker("rm", "--force", fork);
      await expect.poll(() => row(page, "copy").count()).toBe(0);
      expect(pageErrors(page)).toEqual([]);
    });

    test("cleaning up shows its dry run first, and a removed sandbox is gone", async () => {
      const dashboard = shared.dashboard();
      await inSandbox("default", "true");
      const page = await dashboard.tab("/sandboxes");
      await page.getByRole("button", { name: "Clean up…" }).click();
      await page.getByRole("dialog").getByText("it was started recently").waitFor();
      await checkAppearance(page, "sandbox-gc");
      await page.keyboard.press("Escape");
      await row(page, "default").click();
      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: "Remove" }).click();
      await confirm(page, "Remove");
      await page.getByText(/is removed\./).waitFor();
      await expect.poll(async () => (await quick.containersOf(await profileId())).length).toBe(0);
      const audit = await readFile(join(dashboard.home.path, "logs", "dashboard-audit.log"), "utf8");
      expect(audit).toContain("/remove");
      expect(pageErrors(page)).toEqual([]);
    });

    test("A13: a sign-in that may only read sees the sandboxes, and its buttons say what it lacks", async () => {
      const dashboard = shared.dashboard();
      await inSandbox("default", "true");
      const link = await dashboard.home.hermes(["dashboard", "link", "--read-only"]);
      expect(link.exitCode).toBe(0);
      const page = await dashboard.stranger();
      await page.goto(link.stdout.trim());
      await page.getByRole("navigation").first().waitFor({ state: "attached" });
      await page.goto(`${dashboard.url}/sandboxes`);
      const clean = page.getByRole("button", { name: "Clean up…" });
      await clean.waitFor();
      expect(await clean.isDisabled()).toBe(true);
      expect(await clean.getAttribute("title")).toContain('it needs the scope "shell"');
    });
  });
});
