import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { collect } from "../environment.contract.ts";
import { openDockerEnvironment } from "./docker-environment.ts";
import type { Mount } from "./mounts.ts";
import { findHostPath, findTargetPath } from "./path-map.ts";

const bind = (localSource: string, target: string): Mount => ({
  kind: "bind",
  source: localSource,
  localSource,
  target,
  readOnly: false,
  options: [],
  ours: false,
});
const MOUNTS: Mount[] = [
  bind("/srv/project", "/workspace"),
  bind("/srv/project/data", "/data"),
  { kind: "tmpfs", target: "/workspace/tmp", options: "" },
];

test("F28: a path of the host is named by the most specific mount that shows it, and back", () => {
  expect(findTargetPath(MOUNTS, "/srv/project/src/a.ts")).toBe("/workspace/src/a.ts");
  expect(findTargetPath(MOUNTS, "/srv/project")).toBe("/workspace");
  expect(findTargetPath(MOUNTS, "/srv/project/data/x")).toBe("/data/x");
  expect(findHostPath(MOUNTS, "/workspace/src/a.ts")).toBe("/srv/project/src/a.ts");
  expect(findHostPath(MOUNTS, "/data/x")).toBe("/srv/project/data/x");
});

test("F28: what no mount shows, or another mount hides, has no name in the sandbox", () => {
  for (const path of [
    "/srv/project2/a",
    "/srv",
    "/etc/passwd",
    "/srv/project/../secret",
    "/srv/project/tmp/x",
  ]) {
    expect(findTargetPath(MOUNTS, path), path).toBeUndefined();
  }
  for (const path of ["/workspace/tmp/x", "/etc/passwd", "/data2"])
    expect(findHostPath(MOUNTS, path), path).toBeUndefined();
});

describeWith("docker", "the names of files", (service) => {
  test("F28: a file of the host is read in the sandbox under the name that the table gives it", async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec({
      docker_image: service.images.busybox,
      docker_mount_cwd_to_workspace: true,
    });
    const file = join(lab.host.cwd, "attached file.txt");
    await writeFile(file, "from the host");
    const target = findTargetPath(spec.mounts, file);
    const { engine, host, reporter } = lab;
    await using environment = openDockerEnvironment({
      engine,
      spec,
      sandboxesFolder: host.sandboxesFolder,
      reporter,
    });
    const run = await collect(environment, 'cat "$FILE"', { variables: { FILE: String(target) } });
    expect(run.stdout).toBe("from the host");
    expect(findHostPath(spec.mounts, String(target))).toBe(file);
  });
});
