import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { testHost, testOptions } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openDockerEnvironment } from "../docker/docker-environment.ts";
import { createEngine } from "../docker/engine/engine.ts";
import { createSandboxSpec } from "../docker/spec/sandbox-spec.ts";
import { ADD_NOBODY, allFilesContracts } from "./all-files.contract.ts";

describeWith("podman", "podman", (service) => {
  const engine = createEngine(service.client, { ...process.env, ...service.env });
  const profileId = randomBytes(8).toString("hex");
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "hermes-files-"));
  });
  afterAll(async () => {
    const filter = `label=hermes-profile-id=${profileId}`;
    const listed = await engine.run(["ps", "-aq", "--filter", filter], { timeoutMs: 30_000 }, neverAborted);
    const ids = listed.stdout.split("\n").filter((id) => id !== "");
    if (ids.length > 0) await engine.run(["rm", "-f", ...ids], { timeoutMs: 30_000 }, neverAborted);
    await rm(folder, { recursive: true, force: true });
  });
  allFilesContracts({
    name: "podman",
    hasTestedShell: true,
    folder: "/tmp",
    setUp: ADD_NOBODY,
    async open() {
      const options = testOptions(service.images.bash, { backend: "podman" });
      const identity = { profile: "tester", profileId, task: "default" };
      const { spec } = await createSandboxSpec(options, identity, testHost(folder));
      const reporter = { onNotice: () => undefined, onProgress: () => undefined };
      return openDockerEnvironment({ engine, spec, reporter });
    },
  });
});
