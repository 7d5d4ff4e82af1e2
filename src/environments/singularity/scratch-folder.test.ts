import { mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { chooseScratchFolder } from "./scratch-folder.ts";

test("B4: scratch is the setting, else the user's folder on a cluster, else next to other sandboxes", async () => {
  await using folder = await tempFolder();
  const choice = { setting: "", user: "ann", clusterFolder: folder.path, sandboxesFolder: "/s" };
  expect(await chooseScratchFolder(choice)).toBe("/s/singularity");
  await mkdir(folder.file("ann"));
  expect(await chooseScratchFolder(choice)).toBe(folder.file("ann/hermes-agent"));
  expect(await chooseScratchFolder({ ...choice, setting: "/own" })).toBe("/own");
  expect(await chooseScratchFolder({ ...choice, user: ".." })).toBe("/s/singularity");
  expect(await chooseScratchFolder({ ...choice, user: undefined })).toBe("/s/singularity");
});

test.each(["relative", "/a:b", "/a,b", "~/x"])(
  "a folder that cannot be passed as an argument is refused: %s",
  async (setting) => {
    const choice = { setting, user: undefined, clusterFolder: "/nowhere", sandboxesFolder: "/s" };
    await expect(chooseScratchFolder(choice)).rejects.toMatchObject({ code: "config-invalid" });
  },
);
