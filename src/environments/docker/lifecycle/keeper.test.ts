import { expect, it, vi } from "vitest";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import type { TerminalOptions } from "../../options.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "the keeper", (service) => {
  async function run(lab: DockerLab, options: Partial<TerminalOptions>): Promise<string> {
    return (await ensureSandbox(lab.engine, await lab.spec(options), lab.reporter, neverAborted)).id;
  }
  const stateOf = (lab: DockerLab, id: string) => lab.inspect(id, "{{.State.Status}}");
  const processes = (lab: DockerLab, id: string) => lab.docker("top", id, "-eo", "pid,ppid,stat,comm");
  const withInit = [
    ["bash", true],
    ["busybox", true],
    ["bash", false],
    ["busybox", false],
  ] as const;

  it.each(withInit)(
    "in the %s image (init: %s) exits on our signal, without force, on a read-only root",
    LONG,
    async (image, init) => {
      await using lab = await openDockerLab(service);
      const id = await run(lab, {
        docker_image: service.images[image],
        docker_read_only: true,
        docker_snap_compat: !init, // omits the init
      });
      expect(await lab.inspect(id, "{{.HostConfig.Init}}")).toBe(init ? "true" : "<nil>");
      await lab.docker("stop", "-t", "60", id);
      expect(await lab.inspect(id, "{{.State.ExitCode}}")).toBe("0");
    },
  );

  it.each([
    ["pkill sleep"],
    ["pkill -KILL sleep"],
    ["pkill sh"],
    ["killall -q5 sh sleep; pkill -INT . ; pkill -HUP sh; true"],
  ])("survives `%s` and still exits at once when it is stopped", LONG, async (command) => {
    await using lab = await openDockerLab(service);
    const id = await run(lab, { docker_image: service.images.bash });
    for (let time = 0; time < 3; time++) {
      // The command may kill its own shell.
      await lab.docker("exec", id, "sh", "-c", command).catch(() => undefined);
    }
    expect(await stateOf(lab, id)).toBe("running");
    await vi.waitUntil(async () => (await processes(lab, id)).includes("sleep"), {
      timeout: 150_000,
      interval: 100,
    });
    await lab.docker("stop", "-t", "60", id);
    expect(await lab.inspect(id, "{{.State.ExitCode}}")).toBe("0");
  });

  it("suspends itself instead of spinning when sleep is missing", LONG, async () => {
    await using lab = await openDockerLab(service);
    const id = await run(lab, { docker_image: service.images.bash });
    await lab.docker("exec", id, "sh", "-c", "rm $(command -v sleep); pkill -KILL sleep");
    const keeper = async () => (await processes(lab, id)).split("\n").find((line) => /\bT\s+sh$/.test(line));
    await vi.waitUntil(keeper, { timeout: 150_000, interval: 100 });
    expect(await stateOf(lab, id)).toBe("running");
  });

  it.each(withInit)(
    "F17: in the %s image (init: %s) no zombie process stays behind",
    LONG,
    async (image, init) => {
      await using lab = await openDockerLab(service);
      const id = await run(lab, { docker_image: service.images[image], docker_snap_compat: !init });
      await lab.docker("exec", id, "sh", "-c", "(sleep 0.1 & sleep 0.2 &); true");
      await vi.waitUntil(
        async () => {
          const rows = (await processes(lab, id)).split("\n").slice(1);
          return rows.length === (init ? 3 : 2) && !rows.some((row) => /\sZ/.test(row));
        },
        { timeout: 150_000, interval: 100 },
      );
    },
  );

  it("replaces the image's own entrypoint, stop signal and health check", LONG, async () => {
    await using lab = await openDockerLab(service);
    const image = `hermes-test-odd-${lab.profileId}`;
    const odd = ["--stop-signal", "KILL", "--health-cmd", "touch /ran", "--health-interval", "1s"];
    const template = await lab.docker("create", ...odd, "--entrypoint", "/bin/false", service.images.busybox);
    try {
      await lab.docker("commit", template, image);
      const id = await run(lab, { docker_image: image });
      expect(await lab.inspect(id, "{{json .State.Health}}")).toBe("null");
      await lab.docker("stop", "-t", "60", id);
      expect(await lab.inspect(id, "{{.State.ExitCode}}")).toBe("0");
    } finally {
      for (const id of await lab.containers()) await lab.docker("rm", "-f", id);
      await lab.docker("rm", "-f", template);
      await lab.docker("rmi", "-f", image);
    }
  });
});
