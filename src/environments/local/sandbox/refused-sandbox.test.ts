import { chmod, mkdir, writeFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { collect } from "../../environment.contract.ts";
import { terminalOptions } from "../../options.ts";
import { openLocalEnvironment } from "../local-environment.ts";
import { type Mount, mountArguments } from "./mounts.ts";
import { planSandbox } from "./plan-sandbox.ts";
import { startHub } from "./sandbox-hub.ts";

/** An environment whose PATH begins with this program as bwrap. */
async function openWith(program: string) {
  const temp = await tempFolder();
  const bin = temp.file("bin");
  const project = temp.file("project");
  for (const folder of [bin, project]) await mkdir(folder);
  await writeFile(temp.file("bin/bwrap"), `#!/bin/sh\n${program}\n`);
  await chmod(temp.file("bin/bwrap"), 0o755);
  const environment = await openLocalEnvironment({
    options: terminalOptions.parse({ local_sandbox: "workspace", shell_init_files: ["/dev/null"] }),
    variables: { PATH: bin, HOME: temp.path, TMPDIR: temp.path },
    profileHome: temp.file(".hermes"),
    cwd: project,
  });
  return {
    environment,
    project,
    async [Symbol.asyncDispose]() {
      await environment[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

test.each([
  [
    "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
    "setting up uid map",
    "user namespaces",
  ],
  ["echo 'bwrap: Unknown option --perms' >&2; exit 1", "Unknown option", "Update bubblewrap"],
  ["exit 3", "exit code 3", "hermes doctor"],
])(
  "agent K9: where the sandbox cannot be created (%s), every command is refused with the reason",
  async (program, reason, hint) => {
    await using lab = await openWith(program);
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(collect(lab.environment, `echo x > ${lab.project}/file`)).rejects.toMatchObject({
        code: "local-sandbox-unavailable",
        message: expect.stringContaining(reason),
        hint: expect.stringContaining(hint),
      });
  },
);

test("agent K9: the sandbox starts although a mount disappears meanwhile, for example because a container ends", async () => {
  const temp = await tempFolder();
  onTestFinished(() => temp[Symbol.asyncDispose]());
  const bwrap = temp.file("bwrap");
  // The first two starts fail; the third one runs the command, after its own arguments.
  await writeFile(
    bwrap,
    `#!/bin/sh
echo x >> "$0.starts"
[ "$(wc -l < "$0.starts")" -gt 2 ] || { echo "bwrap: Can't bind mount / on /: Unable to apply mount flags: remount /m: No such file" >&2; exit 1; }
exec "$@"
`,
  );
  await chmod(bwrap, 0o755);
  const parts = {
    ...{ sandbox: [bwrap], mkfifo: "mkfifo", mode: "workspace", channels: temp.path },
    env: { PATH: process.env["PATH"] ?? "" },
  };
  await using hub = await startHub(parts, new AbortController().signal);
  expect(hub.isOpen).toBe(true);
});

test("a folder is mounted before the paths below it, and the last mount at a path applies", () => {
  const mounts: Mount[] = [
    { kind: "read", path: "/a/b/c" },
    { kind: "hidden-folder", path: "/a" },
    { kind: "write", path: "/a/b" },
    { kind: "read", path: "/x" },
    { kind: "hidden-file", path: "/x" },
  ];
  expect(mountArguments(mounts, "/blank").join(" ")).toBe(
    "--perms 0111 --tmpfs /a --ro-bind /blank /x --bind /a/b /a/b --ro-bind /a/b/c /a/b/c --remount-ro /a",
  );
});

test("agent K9: without bubblewrap the refusal names the package to install", async () => {
  const parts = { sandbox: ["/nowhere/bwrap"], mkfifo: "mkfifo", mode: "workspace", env: {}, channels: "/" };
  await expect(startHub(parts, new AbortController().signal)).rejects.toMatchObject({
    code: "local-sandbox-unavailable",
    message: expect.stringContaining("bubblewrap is not installed. No command was run."),
    hint: expect.stringContaining("apt-get install bubblewrap"),
  });
});

test("agent K9: a bwrap in a folder that sandboxed commands can write is not used", async () => {
  await using folder = await tempFolder();
  const bin = folder.file("project/bin");
  await mkdir(bin, { recursive: true });
  await writeFile(`${bin}/bwrap`, "");
  const { bubblewrap } = await planSandbox({
    options: terminalOptions.parse({ local_sandbox: "workspace" }),
    variables: { PATH: `${bin}:/usr/bin`, HOME: folder.path },
    hermesHomes: [folder.file(".hermes")],
    cwd: folder.file("project"),
    temporary: folder.path,
  });
  expect(bubblewrap).toBe("/usr/bin/bwrap");
});
