import { afterAll, beforeAll, describe } from "vitest";
import { type DockerLab, openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { jobsContract } from "./jobs.contract.ts";

describeWith("docker", "jobs in docker", (service) => {
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
      jobsContract({
        name: `docker/${image}`,
        shell,
        place: async () => ({
          kind: "docker",
          client: service.client,
          variables: { DOCKER_HOST: service.host },
          spec: await lab.spec({ docker_image: service.images[image] }),
          sandboxesFolder: lab.host.sandboxesFolder,
        }),
        async outsideView() {
          const [id = ""] = await lab.containers();
          return lab.docker("top", id, "-eo", "pid,args");
        },
      });
    });
  }
});
