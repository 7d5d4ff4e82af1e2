import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DockerLab, openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { collect, environmentContract } from "../environment.contract.ts";
import { openDockerEnvironment } from "./docker-environment.ts";

describeWith("docker", "the docker environment", (service) => {
  for (const [image, shell] of [
    ["bash", "bash"],
    ["busybox", "sh"],
  ] as const) {
    describe(`with the ${image} image`, () => {
      let lab: DockerLab;
      beforeAll(async () => {
        lab = await openDockerLab(service);
      });
      afterAll(async () => {
        await lab[Symbol.asyncDispose]();
      });
      const spec = () => lab.spec({ docker_image: service.images[image] });
      const open = async () => {
        const { engine, host, reporter } = lab;
        return openDockerEnvironment({
          engine,
          spec: await spec(),
          sandboxesFolder: host.sandboxesFolder,
          reporter,
        });
      };

      environmentContract({ name: `docker/${image}`, shell, folder: "/tmp", open });

      test("a removed container is told, the command is not run again, and the next one gets a new container", async () => {
        await using environment = await open();
        const before = await collect(environment, "hostname");
        const name = (await spec()).name;
        const [lost] = await Promise.all([
          collect(environment, "echo began; sleep 30"),
          (async () => {
            await new Promise((resolve) => setTimeout(resolve, 500));
            await lab.docker("rm", "-f", name);
          })(),
        ]);
        expect(lost).toMatchObject({ ended: "lost", exitCode: 125 });
        expect(lost.notices.join(" ")).toMatch(/removed.*not run again/);
        const after = await collect(environment, "hostname");
        expect(after.stdout).not.toBe(before.stdout);
        expect(after.notices.join(" ")).toContain("new one");
      });

      test("F1: children of another user are ended too, and the container stays the same", async () => {
        await using environment = await open();
        const before = (await collect(environment, "hostname")).stdout;
        const script =
          "su nobody -s /bin/sh -c 'sleep 4321' & setsid sleep 4322 & env -i sleep 4323 & sleep 4324 & wait";
        const run = await collect(environment, script, { timeoutMs: 800 });
        expect(run).toMatchObject({ ended: "timed-out", survivors: [] });
        expect(await lab.docker("top", (await spec()).name)).not.toMatch(/sleep 432/);
        expect((await collect(environment, "hostname")).stdout).toBe(before);
      });
    });
  }
});
