import { execFileSync } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { openSandboxFolder } from "./sandbox-folder.ts";

test("agent K8: the channels of a killed process are removed, and those of a running one stay", async () => {
  await using temp = await tempFolder();
  const folder = await openSandboxFolder("/home/user/.hermes", temp.path);
  const ours = await folder.createChannels();
  const exited = execFileSync("sh", ["-c", "echo $$"], { encoding: "utf8" }).trim();
  await mkdir(join(dirname(ours), `channels-${exited}-0123abcd`));
  await openSandboxFolder("/home/user/.hermes", temp.path);
  const names = await readdir(dirname(ours));
  expect(names.filter((name) => name.startsWith("channels-"))).toEqual([basename(ours)]);
});
