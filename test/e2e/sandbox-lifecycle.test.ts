import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openSandboxHome } from "../support/sandbox-home.ts";
import { describeWith } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 }); // each starts the program many times

const soon = { timeout: 150_000, interval: 100 };
const TWO_WEEKS_MS = 14 * 86_400_000;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly action: string;
  readonly reason: string;
  readonly kept_until: string | null;
}

describeWith("docker", "a sandbox that was stopped", (service) => {
  test.concurrent("is kept for two weeks, and stop, status, list and gc name the same day", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("echo kept > /etc/mark");
    const said = await home.sandbox(["stop"]);
    const { kept_until } = (await home.sandbox(["stop", "--json"])).json<Row>();
    const [row] = (await home.sandbox(["list", "--json"])).json<Row[]>();
    const finished = await home.docker("inspect", "-f", "{{.State.FinishedAt}}", row?.id ?? "");
    const date = new Date(Date.parse(finished) + TWO_WEEKS_MS).toISOString();
    expect([kept_until, row?.kept_until]).toEqual([date, date]);
    const shown = `${date.slice(0, 16).replace("T", " ")} UTC`;
    expect(said.stderr).toContain(`kept until ${shown} (terminal.docker_stopped_ttl_seconds)`);
    expect((await home.sandbox(["list"])).stdout).toContain(shown);
    expect((await home.sandbox(["status"])).stdout).toContain(shown);
    const [kept] = (await home.sandbox(["gc", "--dry-run", "--json"])).json<Row[]>();
    expect(kept).toMatchObject({ action: "kept", reason: expect.stringContaining(`kept until ${shown}`) });
    expect(await home.exec("cat /etc/mark")).toMatchObject({ stdout: "kept\n" });
  });

  test.concurrent("is removed after that with a notice, by whoever starts next", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_STOPPED_TTL_SECONDS: "1" });
    await home.exec("true");
    await home.sandbox(["stop"]);
    await vi.waitFor(async () => {
      await rm(join(home.path, "sandboxes/.last-reclaim"), { force: true }); // else it looks every ten minutes
      const { stderr } = await home.sandbox(["exec", "--task", "other", "--", "true"]);
      expect(stderr).toMatch(/was removed: .*kept until .* UTC \(terminal\.docker_stopped_ttl_seconds\)/);
    }, soon);
    expect(await home.containers()).toHaveLength(1);
    expect((await home.sandbox(["status"])).stdout).toContain("does not exist yet");
  });
});
