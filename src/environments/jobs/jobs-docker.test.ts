import { join } from "node:path";
import { expect, test } from "vitest";
import { openDockerLab } from "../../../test/support/docker.ts";
import { describeEachImage } from "../../../test/support/docker-images.ts";
import { openJobs } from "../../../test/support/jobs-lab.ts";
import { describeWith } from "../../../test/support/services.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { jobsContract } from "./jobs.contract.ts";

describeWith("docker", "jobs in docker", (service) => {
  describeEachImage(service, ({ image, shell, lab, spec }) => {
    jobsContract({
      name: `docker/${image}`,
      shell,
      target: async () => ({
        kind: "docker",
        client: service.client,
        variables: { DOCKER_HOST: service.host },
        spec: await spec(),
      }),
      async outsideView() {
        const [id = ""] = await lab().containers();
        return lab().top(id);
      },
    });
  });

  test("F48: a job that the kernel killed because memory ran out is reported as such", async () => {
    await using lab = await openDockerLab(service);
    const { sandboxesFolder } = lab.host;
    const spec = await lab.spec({ docker_image: service.images.bash, container_memory: 64 });
    const variables = { DOCKER_HOST: service.host };
    const target = { kind: "docker", client: service.client, variables, spec } as const;
    await using opened = await openJobs(target, join(sandboxesFolder, "..", "memory.sqlite"));
    const { jobs, environment } = opened;
    const options = { session: environment.openSession(), owner: "a", lifetime: "session" } as const;
    const ends = async (command: string) => {
      const started = await jobs.start(command, options, neverAborted);
      if (started.kind !== "started") throw new Error(started.message);
      return (await jobs.wait(started.job.id, 150_000, neverAborted)).job;
    };
    expect(await ends("tail /dev/zero")).toMatchObject({ exitCode: 137, ranOutOfMemory: true });
    expect(await ends("kill -9 $$")).toMatchObject({ exitCode: 137, ranOutOfMemory: false });
  });
});
