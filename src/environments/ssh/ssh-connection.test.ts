import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, readdir, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { startChild } from "../../../test/support/child.ts";
import type { SshChildInput } from "../../../test/support/ssh-child.ts";
import { describeWithOwnSshd, openSshd, type Sshd } from "../../../test/support/sshd.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { collect } from "../environment.contract.ts";
import { terminalOptions } from "../options.ts";
import { sshArguments } from "./ssh-arguments.ts";
import { openSshEnvironment, type SshEnvironmentOptions } from "./ssh-environment.ts";

const run = promisify(execFile);
const { PATH } = process.env;
const SOON = { timeout: 150_000, interval: 50 };

function openAt(server: Sshd, overrides: Partial<SshEnvironmentOptions> = {}) {
  const { extraArguments, folder: temporaryFolder } = server;
  return openSshEnvironment({
    options: server.options(),
    variables: { PATH },
    profileId: "p",
    extraArguments,
    temporaryFolder,
    ...overrides,
  });
}

const socketsIn = async (folder: string): Promise<string[]> => {
  const sub = join(folder, `hermes-ssh-${process.geteuid?.()}`);
  return (await readdir(sub)).map((name) => join(sub, name));
};

/** The pid of the process that holds the shared connection. */
async function masterAt(socket: string): Promise<number> {
  const { stderr } = await run("ssh", ["-F", "none", "-O", "check", "-o", `ControlPath=${socket}`, "any"]);
  return Number(stderr.match(/pid=(\d+)/)?.[1]);
}

async function onlySocket(folder: string): Promise<string> {
  const [socket = "", ...others] = await socketsIn(folder);
  expect(others).toEqual([]);
  return socket;
}

describeWithOwnSshd("the shared SSH connection", () => {
  test("F55: a process that closes or is killed does not drop the connection of another process", async () => {
    await using server = await openSshd();
    const input: SshChildInput = {
      options: server.options(),
      extraArguments: server.extraArguments,
      temporaryFolder: server.folder,
      profileId: "p",
      command: "",
    };
    const url = new URL("../../../test/support/ssh-child.ts", import.meta.url);
    const gate = join(server.home, "gate");
    // The first process opens the connection and is killed; the second uses it throughout; the third opens and closes.
    await using first = startChild(url, "run", { ...input, command: "echo up; exec sleep 600" });
    expect(await first.next()).toBe("up\n");
    const master = await masterAt(await onlySocket(server.folder));
    const wait = `echo up; until [ -e ${gate} ]; do sleep 0.1; done; echo through`;
    await using second = startChild(url, "run", { ...input, command: wait });
    expect(await second.next()).toBe("up\n");
    await using third = startChild(url, "run", { ...input, command: "echo short" });
    expect(await third.next()).toBe("short\n");
    expect(await third.next()).toBe("exited");
    expect(await third.ended).toBe(0);
    await first.kill();
    expect(await masterAt(await onlySocket(server.folder))).toBe(master);
    await run("touch", [gate]);
    expect(await second.next()).toBe("through\n");
    expect(await second.next()).toBe("exited");
    expect(await masterAt(await onlySocket(server.folder))).toBe(master);
  });

  test("F55, F61: an unused connection closes by itself and leaves no socket", async () => {
    await using server = await openSshd();
    const extraArguments = [...server.extraArguments, "-o", "ControlPersist=1"];
    {
      await using environment = await openAt(server, { extraArguments });
      expect((await collect(environment, "echo hi")).stdout).toBe("hi\n");
      expect(await socketsIn(server.folder)).toHaveLength(1);
    }
    await vi.waitFor(async () => expect(await socketsIn(server.folder)).toEqual([]), SOON);
  });

  test("B3: environments of one host, key and profile share a connection, those of another profile do not", async () => {
    await using server = await openSshd();
    await using one = await openAt(server);
    await using two = await openAt(server);
    await using other = await openAt(server, { profileId: "q" });
    const client = async (environment: typeof one) =>
      (await collect(environment, "echo $SSH_CONNECTION")).stdout;
    const from = await client(one);
    expect(await client(two)).toBe(from);
    expect(await client(other)).not.toBe(from);
  });

  test("F55: a stale socket of a killed process does not prevent a new connection", async () => {
    await using server = await openSshd();
    await using environment = await openAt(server);
    await collect(environment, "true");
    const socket = await onlySocket(server.folder);
    process.kill(await masterAt(socket), "SIGKILL");
    await vi.waitFor(async () => await expect(masterAt(socket)).rejects.toThrow(), SOON);
    expect(await socketsIn(server.folder)).toEqual([socket]);
    await using fresh = await openAt(server);
    expect((await collect(fresh, "echo again")).stdout).toBe("again\n");
    expect((await collect(environment, "echo again")).stdout).toBe("again\n");
    expect(await masterAt(await onlySocket(server.folder))).toBeGreaterThan(0);
  });

  test("B3: after the host was down and is up again, the next command works", async () => {
    await using server = await openSshd();
    await using environment = await openAt(server);
    await collect(environment, "true");
    await server.stop();
    const refused = { code: "ssh-unreachable", message: expect.stringContaining("refuse") };
    await vi.waitFor(() => expect(collect(environment, "true")).rejects.toMatchObject(refused), SOON);
    await server.start();
    expect((await collect(environment, "echo back")).stdout).toBe("back\n");
  });

  test("B3: a command whose connection is cut is lost and not run again", async () => {
    await using server = await openSshd();
    await using environment = await openAt(server);
    const count = "echo x >> ~/runs; echo started; exec sleep 600";
    let cut: Promise<void> | undefined;
    const result = await environment.run(
      {
        command: count,
        session: environment.openSession(),
        timeoutMs: 300_000,
        onOutput: () => {
          cut ??= server.killConnections();
        },
      },
      AbortSignal.timeout(300_000),
    );
    await cut;
    expect(result).toMatchObject({ ended: "lost", exitCode: 125 });
    expect(result.notices.join(" ")).toContain("not run again");
    expect((await collect(environment, "cat ~/runs")).stdout).toBe("x\n");
  });

  test("B3: a host that allows two sessions per connection still runs eight commands at once", async () => {
    await using server = await openSshd({ config: ["MaxSessions 2"] });
    await using environment = await openAt(server);
    const gate = join(server.home, "n");
    // No command ends before all have started, so each has its own channel.
    const meet = `mkdir -p ${gate}; : > ${gate}/$$; until [ $(ls ${gate} | wc -l) -ge 8 ]; do sleep 0.1; done; echo met`;
    const results = await Promise.all(Array.from({ length: 8 }, () => collect(environment, meet)));
    for (const result of results)
      expect(result).toMatchObject({ ended: "exited", stdout: "met\n", stderr: "" });
    expect((await collect(environment, "wc -c", { stdin: "x".repeat(100_000) })).stdout.trim()).toBe(
      "100000",
    );
  });

  test("B3: a temporary folder with a long or odd name does not break the connection", async () => {
    await using server = await openSshd();
    for (const name of ["long".repeat(25), "odd %h $HOME name"]) {
      const temporaryFolder = join(server.folder, name);
      await mkdir(temporaryFolder);
      // A profile of its own, because the folder of the socket is shared.
      const profileId = randomBytes(8).toString("hex");
      await using environment = await openAt(server, { temporaryFolder, profileId });
      await using second = await openAt(server, { temporaryFolder, profileId });
      const { stdout } = await collect(environment, "echo $SSH_CONNECTION");
      expect(stdout).toContain("127.0.0.1");
      expect((await collect(second, "echo $SSH_CONNECTION")).stdout).toBe(stdout);
      expect(await readdir(temporaryFolder)).toEqual([]);
    }
  });

  test("B3: the folder of sockets is private to the user", async () => {
    await using server = await openSshd();
    const folder = join(server.folder, `hermes-ssh-${process.geteuid?.()}`);
    await mkdir(folder);
    await chmod(folder, 0o777);
    await using _ = await openAt(server);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test("B3: a socket folder that belongs to another user or is a link is refused with a hint", async () => {
    await using server = await openSshd();
    await using foreign = await tempFolder();
    const name = `hermes-ssh-${process.geteuid?.()}`;
    await mkdir(foreign.file(name));
    await chown(foreign.file(name), 12_345, 12_345);
    await using linked = await tempFolder();
    await symlink(server.home, linked.file(name));
    for (const { path } of [foreign, linked]) {
      await expect(openAt(server, { temporaryFolder: path })).rejects.toMatchObject({
        code: "home-unusable",
        hint: expect.stringContaining("TMPDIR"),
      });
    }
  });

  test("F54: on Windows no connection is shared", async () => {
    await using server = await openSshd();
    await using one = await openAt(server, { platform: "win32" });
    expect((await collect(one, "echo hi")).stdout).toBe("hi\n");
    await expect(socketsIn(server.folder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("B3, F54, F56: ssh applies our settings: dead connections are detected, and there are no prompts", async () => {
    const target = {
      options: terminalOptions.parse({ ssh_host: "example.org", ssh_user: "me" }),
      extraArguments: ["-F", "none"],
    };
    const settings = async (socket: string | undefined) => {
      const { stdout } = await run("ssh", ["-G", ...sshArguments(target, socket, "true")]);
      return stdout.toLowerCase().split("\n");
    };
    const shared = await settings("/tmp/x.sock");
    expect(shared).toEqual(
      expect.arrayContaining([
        "serveraliveinterval 15",
        "serveralivecountmax 3",
        "batchmode yes",
        "stricthostkeychecking accept-new",
        "connecttimeout 10",
        "controlmaster auto",
        "controlpersist 300",
        "controlpath /tmp/x.sock",
      ]),
    );
    const own = await settings(undefined);
    expect(own).toContain("serveraliveinterval 15");
    expect(own).toContain("controlmaster false");
    expect(own.filter((line) => line.startsWith("controlpath"))).toEqual([]);
  });
});
