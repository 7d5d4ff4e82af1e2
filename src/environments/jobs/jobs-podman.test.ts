import { randomBytes } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import { testHost, testOptions } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { createEngine } from "../docker/engine/engine.ts";
import { createSandboxSpec } from "../docker/spec/sandbox-spec.ts";
import { jobsContract } from "./jobs.contract.ts";

describeWith("podman", "jobs in podman", ({ client, env: variables, images }) => {
  const engine = createEngine(client, { ...process.env, ...variables });
  const identity = { profile: "tester", profileId: randomBytes(8).toString("hex"), task: "default" };
  const options = testOptions(images.bash, { backend: "podman" });
  let temp: Awaited<ReturnType<typeof tempFolder>>;
  let name = "";

  beforeAll(async () => {
    temp = await tempFolder();
  });
  afterAll(async () => {
    await engine.run(["rm", "-f", name], { timeoutMs: 30_000 }, neverAborted);
    await temp[Symbol.asyncDispose]();
  });

  jobsContract({
    name: "podman",
    hasTestedShell: true,
    shell: "bash",
    async target() {
      const { spec } = await createSandboxSpec(options, identity, testHost(temp.path));
      name = spec.name;
      return { kind: "docker", client, variables, spec };
    },
  });
});
