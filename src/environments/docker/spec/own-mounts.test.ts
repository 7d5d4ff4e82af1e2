import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { findOwnMounts } from "./own-mounts.ts";

describeWith("docker", "findOwnMounts", (service) => {
  it("F29: reads the mounts of the container that Hermes runs in from the engine", {
    timeout: 150_000,
  }, async () => {
    await using lab = await openDockerLab(service);
    const label = `hermes-profile-id=${lab.profileId}`;
    const mount = `type=bind,source=${lab.host.cwd},target=/data`;
    const id = await lab.docker("create", "--label", label, "--mount", mount, service.images.busybox, "true");
    const mountInfo = `${lab.folder}/mountinfo`;
    await writeFile(mountInfo, `1 2 8:1 /x/containers/${id}/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n`);
    expect(await findOwnMounts(lab.engine, neverAborted, mountInfo)).toEqual([
      { source: lab.host.cwd, destination: "/data" },
    ]);
  });

  it("F29: returns undefined when the engine does not list our container, or Hermes does not run in one", {
    timeout: 150_000,
  }, async () => {
    await using lab = await openDockerLab(service);
    const mountInfo = `${lab.folder}/mountinfo`;
    await writeFile(
      mountInfo,
      `1 2 8:1 /x/${"ab".repeat(32)}/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n`,
    );
    expect(await findOwnMounts(lab.engine, neverAborted, mountInfo)).toBeUndefined();
    expect(await findOwnMounts(lab.engine, neverAborted, `${lab.folder}/none`)).toBeUndefined();
  });
});
