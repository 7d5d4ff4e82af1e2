import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDockerLab } from "../../../test/support/docker.ts";
import { describeEachImage } from "../../../test/support/docker-images.ts";
import { longEnough } from "../../../test/support/long-enough.ts";
import { describeWith } from "../../../test/support/services.ts";
import { collect, environmentContract } from "../environment.contract.ts";
import { openDockerEnvironment } from "./docker-environment.ts";

describeWith("docker", "the docker environment", (service) => {
  describeEachImage(service, ({ image, shell, lab, spec, open }) => {
    environmentContract({ name: `docker/${image}`, shell, folder: "/tmp", open });

    test("a removed container is reported, its command is not repeated, and the next command gets a new container", async () => {
      await using environment = await open();
      const before = await collect(environment, "hostname");
      const name = (await spec()).name;
      let removed: Promise<string> | undefined;
      const lost = await collect(environment, "echo started; sleep 600", {
        onOutput: () => {
          removed ??= lab().docker("rm", "-f", name);
        },
      });
      await removed;
      expect(lost).toMatchObject({ ended: "lost", exitCode: 125 });
      expect(lost.notices.join(" ")).toMatch(/(?:removed|exited|dead).*not run again/);
      const after = await collect(environment, "hostname");
      expect(after.stdout).not.toBe(before.stdout);
      expect(after.notices.join(" ")).toContain("new one");
    });

    test("C30, C47, F27: no files of the profile are mounted, and closing leaves the container and its processes running", async () => {
      {
        await using environment = await open();
        await collect(environment, "sleep 1234 >/dev/null 2>&1 &");
      }
      const { name } = await spec();
      expect(await lab().inspect(name, "{{.State.Status}}")).toBe("running");
      await expect.poll(() => lab().top(name)).toContain("sleep 1234");
      const format = "{{range .Mounts}}{{.Source}} {{end}}";
      const sources = (await lab().inspect(name, format)).split(" ").filter((source) => source !== "");
      expect(sources).toHaveLength(2);
      for (const source of sources) expect(source).toContain(lab().host.sandboxesFolder);
    });

    test("F1: child processes of another user are ended too, and the container is not replaced", async () => {
      await using environment = await open();
      const before = (await collect(environment, "hostname")).stdout;
      const script = [
        "grep -q ^nobody /etc/passwd || echo nobody:x:65534:65534::/:/bin/sh >> /etc/passwd",
        "su nobody -s /bin/sh -c 'echo > /tmp/nobody-ran; sleep 4321' &",
        "setsid sleep 4322 & env -i sleep 4323 & sleep 4324 & wait",
      ].join("\n");
      const { run, hasRun } = await longEnough(
        [4_000, 30_000, 100_000],
        async (timeoutMs) => ({
          run: await collect(environment, script, { timeoutMs }),
          hasRun: (await collect(environment, "cat /tmp/nobody-ran")).exitCode === 0,
        }),
        ({ hasRun }) => hasRun,
      );
      expect(run).toMatchObject({ ended: "timed-out", survivors: [] });
      expect(hasRun).toBe(true);
      expect(await lab().top((await spec()).name)).not.toMatch(/sleep 432/);
      expect((await collect(environment, "hostname")).stdout).toBe(before);
    });
  });

  test("F1: a loop at the process limit is ended by its timeout with all its children, and the next command runs", async () => {
    await using lab = await openDockerLab(service);
    const limited = { docker_image: service.images.bash, docker_pids_limit: 30 };
    await using environment = await lab.open(limited);
    const loop = "echo started; while :; do sleep 4567 & done";
    const { run } = await longEnough(
      [3_000, 30_000, 100_000],
      async (timeoutMs) => ({ run: await collect(environment, loop, { timeoutMs }) }),
      ({ run }) => run.stderr.includes("Resource temporarily unavailable"),
    );
    expect(run).toMatchObject({ ended: "timed-out", stdout: "started\n", survivors: [] });
    expect(run.stderr).toContain("Resource temporarily unavailable");
    expect(await lab.docker("top", (await lab.spec(limited)).name)).not.toContain("sleep 4567");
    expect(await collect(environment, "ls / > /dev/null && echo fine")).toMatchObject({ stdout: "fine\n" });
  });

  test("C21, C26, C27, C48, F30: without persistence no folder of the host is mounted, and closing waits until the container is removed", async () => {
    await using lab = await openDockerLab(service);
    {
      await using environment = await lab.open({
        container_persistent: false,
        docker_persist_across_processes: false,
      });
      await collect(environment, "true");
      const [id = "", ...others] = await lab.containers();
      expect(others).toEqual([]);
      expect(await lab.inspect(id, "{{len .Mounts}}")).toBe("0");
    }
    expect(await lab.containers()).toEqual([]);
  });

  test("C28, C56: a removal that the engine refuses ends in time and is recorded", async () => {
    await using lab = await openDockerLab(service);
    const engine = await lab.wrap('case "$1" in stop|rm) echo "engine is busy" >&2; exit 1 ;; esac');
    const spec = await lab.spec({ docker_persist_across_processes: false });
    const { host, reporter } = lab;
    {
      await using environment = openDockerEnvironment({
        engine,
        spec,
        reporter,
      });
      await collect(environment, "true");
    }
    const pending = await readFile(join(host.sandboxesFolder, "pending-removals.json"), "utf8");
    expect(pending).toContain((await lab.containers())[0]);
  });
});
