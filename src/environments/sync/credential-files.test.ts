import { mkdir, symlink, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { findCredentialFiles } from "./credential-files.ts";

test("E8: credential files are found in the profile's home, and only their owner may read the copies", async () => {
  await using home = await tempFolder();
  await mkdir(home.file("creds"));
  await writeFile(home.file("creds/token"), "t");
  await writeFile(home.file("key"), "k", { mode: 0o644 });
  await symlink("key", home.file("alias"));
  expect(await findCredentialFiles(home.path, ["creds/token", "./key", "alias", "key", "key"])).toEqual({
    files: [
      { hostPath: home.file("creds/token"), targetPath: "creds/token", mode: 0o600 },
      { hostPath: home.file("key"), targetPath: "key", mode: 0o600 },
      { hostPath: home.file("key"), targetPath: "alias", mode: 0o600 },
    ],
    problems: [],
  });
});

test("E8: absolute paths, paths that lead outside, missing files and folders are skipped and reported", async () => {
  await using home = await tempFolder();
  await using outside = await tempFolder();
  await writeFile(outside.file("secret"), "s");
  await symlink(outside.path, home.file("link"));
  await symlink(outside.file("secret"), home.file("linked-file"));
  await mkdir(home.file("folder"));
  const names = [
    outside.file("secret"),
    "~/x",
    "../x",
    "a/../../x",
    "link/secret",
    "linked-file",
    "missing",
    "folder",
    "",
  ];
  const { files, problems } = await findCredentialFiles(home.path, names);
  expect(files).toEqual([]);
  expect(problems).toEqual(names.map((name) => expect.stringContaining(JSON.stringify(name))));
});
