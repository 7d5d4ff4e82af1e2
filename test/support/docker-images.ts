import { afterAll, beforeAll, describe } from "vitest";
import type { Environment } from "../../src/environments/environment.ts";
import { type DockerLab, openDockerLab } from "./docker.ts";
import type { RunningPart } from "./services.ts";

/** One of the images that tests run in, with a lab that exists while its tests run. */
export interface ImageLab {
  readonly image: "bash" | "busybox";
  readonly shell: "bash" | "sh";
  /** Available only while tests run. */
  lab(): DockerLab;
  spec(): ReturnType<DockerLab["spec"]>;
  open(): Promise<Environment>;
}

/** The same tests in an image with bash and in one with only sh, each with its own lab. */
export function describeEachImage(service: RunningPart<"docker">, tests: (lab: ImageLab) => void): void {
  for (const [image, shell] of [
    ["bash", "bash"],
    ["busybox", "sh"],
  ] as const) {
    describe(`with the ${image} image`, () => {
      let opened: DockerLab | undefined;
      beforeAll(async () => {
        opened = await openDockerLab(service);
      });
      afterAll(async () => {
        await opened?.[Symbol.asyncDispose]();
      });
      const lab = (): DockerLab => {
        if (opened === undefined) throw new Error("the lab does not exist before the first test");
        return opened;
      };
      const options = { docker_image: service.images[image] };
      tests({ image, shell, lab, spec: () => lab().spec(options), open: () => lab().open(options) });
    });
  }
}
