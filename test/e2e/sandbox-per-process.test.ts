import { expect, test, vi } from "vitest";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { describeWith } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 });

const soon = { timeout: 150_000, interval: 100 };
const SETTINGS = { TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "false" };

/** The sandbox that a killed process leaves behind. */
async function leaveSandbox(home: SandboxHome): Promise<string> {
  const before = await home.containers();
  const started = home.start(["exec", "--", "echo started; sleep 600"]);
  await started.printed("started");
  const [id = ""] = (await home.containers()).filter((one) => !before.includes(one));
  started.kill();
  await started.ended;
  const processes = () => home.top(id);
  await vi.waitFor(async () => expect(await processes()).not.toContain("hermes-channel"), soon);
  return (await home.docker("inspect", "--format", "{{.Name}}", id)).slice(1);
}

describeWith("docker", "a sandbox for each process", (service) => {
  test("a sandbox of a killed process is found by status, stop and rm; if there are several, one must be named", async () => {
    await using home = await openSandboxHome(service, {
      ...SETTINGS,
      TERMINAL_DOCKER_ORPHAN_REAPER: "false", // otherwise the second command would remove the sandbox of the first
    });
    const first = await leaveSandbox(home);
    expect((await home.sandbox(["status", "--json"])).json()).toMatchObject({
      name: first,
      state: "running",
    });
    const second = await leaveSandbox(home);
    const unnamed = await home.sandbox(["rm"]);
    expect(unnamed).toMatchObject({ exitCode: 1, stdout: "" });
    expect(unnamed.stderr).toContain(first);
    expect(unnamed.stderr).toContain(second);
    expect(await home.sandbox(["stop", second])).toMatchObject({ exitCode: 0 });
    expect((await home.sandbox(["status", second, "--json"])).json()).toMatchObject({ state: "exited" });
    expect(await home.sandbox(["rm", first])).toMatchObject({ exitCode: 0 });
    expect(await home.sandbox(["rm"])).toMatchObject({ exitCode: 0 });
    expect(await home.containers()).toEqual([]);
  });

  test("gc removes a sandbox of a killed process with its processes, and says why", async () => {
    await using home = await openSandboxHome(service, SETTINGS);
    const name = await leaveSandbox(home);
    const reason = expect.stringContaining("the process that created it has exited");
    const row = { name, action: "removed", reason };
    expect((await home.sandbox(["gc", "--dry-run", "--json"])).json()).toMatchObject([row]);
    expect(await home.containers()).toHaveLength(1);
    expect((await home.sandbox(["gc", "--json"])).json()).toMatchObject([row]);
    expect(await home.containers()).toEqual([]);
  });

  test("the next command removes a sandbox of a killed process, and says why", async () => {
    await using home = await openSandboxHome(service, SETTINGS);
    const name = await leaveSandbox(home);
    const next = await home.start(["exec", "--", "echo works"]).ended;
    expect(next).toMatchObject({ exitCode: 0, stdout: "works\n" });
    expect(next.stderr).toContain(`The sandbox ${name} was removed: the process that created it has exited.`);
    expect(await home.containers()).toEqual([]);
  });

  test("gc and other commands leave a sandbox alone while its process runs", async () => {
    await using home = await openSandboxHome(service, SETTINGS);
    const living = home.start(["exec", "--", "echo started; read line; echo $line"], { stdin: "open" });
    await living.printed("started");
    expect((await home.sandbox(["gc", "--json"])).json()).toMatchObject([{ action: "kept" }]);
    const other = home.start(["exec", "--", "true"]);
    expect(await other.ended).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await home.containers()).toHaveLength(1);
    process.kill(living.pid, "SIGSTOP"); // otherwise it removes its sandbox as soon as the sandbox stops
    const stopped = await home.sandbox(["stop", "--force"]);
    expect(stopped.stderr).toContain("No other command starts it again, because it belongs to one process");
    expect((await home.sandbox(["gc", "--json"])).json()).toMatchObject([{ action: "kept" }]);
    living.kill();
    await living.ended;
  });

  test("stop says that no command starts the sandbox of an exited process again", async () => {
    await using home = await openSandboxHome(service, SETTINGS);
    const living = home.start(["exec", "--", "echo started; sleep 600"]);
    await living.printed("started");
    const [id = ""] = await home.containers();
    living.kill();
    await living.ended;
    const stopped = await home.sandbox(["stop", "--force"]);
    expect(stopped).toMatchObject({ exitCode: 0, stdout: "" });
    expect(stopped.stderr).toContain(
      "No command starts it again, because the process that created it has exited; `hermes sandbox gc` removes it.",
    );
    expect(await home.docker("inspect", "--format", "{{.State.Status}}", id)).toBe("exited");
    expect((await home.sandbox(["gc", "--json"])).json()).toMatchObject([{ id, action: "removed" }]);
  });

  test("a sandbox of another profile cannot be named", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("true");
    const [id = ""] = await home.containers();
    await using other = await openSandboxHome(service);
    const refused = await other.sandbox(["rm", "--force", id]);
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toContain("This profile has no sandbox");
    expect(await home.containers()).toEqual([id]);
  });

  test("a job is refused, because its sandbox would be removed with the command, and nothing remains", async () => {
    await using home = await openSandboxHome(service, SETTINGS);
    const refused = await home.sandbox(["jobs", "start", "--", "sleep 600"]);
    expect(refused).toMatchObject({ exitCode: 125, stdout: "" });
    expect(refused.stderr).toContain("would be removed when this command ends");
    expect(await home.containers()).toEqual([]);
    expect((await home.sandbox(["jobs", "--all"])).stdout).toBe("No jobs are running.\n");
  });
});
