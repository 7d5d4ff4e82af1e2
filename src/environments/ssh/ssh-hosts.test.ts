import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { describeWithOwnSshd, openCountingProxy, openSshd, type Sshd } from "../../../test/support/sshd.ts";
import { collect } from "../environment.contract.ts";
import { openSshEnvironment, type SshEnvironmentOptions } from "./ssh-environment.ts";
import { createSshFailure } from "./ssh-failure.ts";

const run = promisify(execFile);
const { PATH } = process.env;

function openAt(server: Sshd, overrides: object = {}, more: Partial<SshEnvironmentOptions> = {}) {
  return openSshEnvironment({
    options: server.options(overrides),
    variables: { PATH },
    profileId: "p",
    extraArguments: server.extraArguments,
    temporaryFolder: server.folder,
    ...more,
  });
}

describeWithOwnSshd("hosts that refuse the connection", () => {
  test("B3: an unknown host name", async () => {
    await using server = await openSshd();
    await using environment = await openAt(server, { ssh_host: "no-such-host.invalid" });
    await expect(collect(environment, "true")).rejects.toMatchObject({
      code: "ssh-unreachable",
      message: expect.stringContaining("no-such-host.invalid"),
      hint: expect.stringContaining("terminal.ssh_host"),
    });
  });

  test("B3: a host that refuses connections, and works again later", async () => {
    await using server = await openSshd();
    await using environment = await openAt(server);
    await server.stop();
    await expect(collect(environment, "true")).rejects.toMatchObject({
      code: "ssh-unreachable",
      hint: expect.stringContaining("terminal.ssh_port"),
    });
    await server.start();
    expect((await collect(environment, "echo in")).stdout).toBe("in\n");
  });

  test("B3: a host that accepts the connection and does not respond", async () => {
    await using server = await openSshd();
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => silent.once("listening", resolve));
      const address = silent.address();
      const ssh_port = typeof address === "object" ? address?.port : undefined;
      const extraArguments = [...server.extraArguments, "-o", "ConnectTimeout=1"];
      await using environment = await openAt(server, { ssh_port }, { extraArguments });
      await expect(collect(environment, "true")).rejects.toMatchObject({
        code: "ssh-unreachable",
        message: expect.stringContaining("does not answer"),
        hint: expect.stringContaining("firewall"),
      });
    } finally {
      silent.close();
    }
  });

  test("B3: a host that hangs up, and a machine without ssh", async () => {
    await using server = await openSshd();
    const rude = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => rude.once("listening", resolve));
      const address = rude.address();
      const ssh_port = typeof address === "object" ? address?.port : undefined;
      await using environment = await openAt(server, { ssh_port });
      await expect(collect(environment, "true")).rejects.toMatchObject({
        code: "ssh-unreachable",
        message: expect.stringContaining("before the login"),
      });
    } finally {
      rude.close();
    }
    await using nowhere = await openAt(server, {}, { variables: { PATH: "/nonexistent" } });
    await expect(collect(nowhere, "true")).rejects.toMatchObject({
      code: "process-unstartable",
      message: expect.stringContaining("ssh"),
    });
  });

  test("B3: a key that the host does not know", async () => {
    await using server = await openSshd();
    const ssh_key = join(server.folder, "other");
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", ssh_key]);
    await using environment = await openAt(server, { ssh_key });
    await expect(collect(environment, "true")).rejects.toMatchObject({
      code: "ssh-denied",
      hint: expect.stringContaining("ssh-copy-id"),
    });
  });

  test("B3: a missing key, and a key that other users can read", async () => {
    await using server = await openSshd();
    await using missing = await openAt(server, { ssh_key: "/nonexistent/key" });
    await expect(collect(missing, "true")).rejects.toMatchObject({
      code: "ssh-denied",
      message: expect.stringContaining("/nonexistent/key"),
      hint: expect.stringContaining("terminal.ssh_key"),
    });
    await chmod(server.identityFile, 0o644);
    await using open = await openAt(server);
    await expect(collect(open, "true")).rejects.toMatchObject({
      code: "ssh-denied",
      hint: expect.stringContaining(`chmod 600 '${server.identityFile}'`),
    });
  });

  test("B3: a changed host key is reported with its line and with the command that removes it, which works", async () => {
    await using server = await openSshd();
    {
      await using environment = await openAt(server);
      expect((await collect(environment, "echo known")).stdout).toBe("known\n");
    }
    await server.changeHostKey();
    await using environment = await openAt(server);
    const failure = await collect(environment, "true").catch((error) => error);
    expect(failure).toMatchObject({
      code: "ssh-host-key-changed",
      message: expect.stringContaining(`${server.knownHosts}:1`),
      hint: expect.stringMatching(/`ssh-keygen -f .+ -R .+`/),
    });
    const [, command = ""] = failure.hint.match(/`(.+)`/) ?? [];
    await run("sh", ["-c", command]);
    expect((await collect(environment, "echo new")).stdout).toBe("new\n");
  });

  test.each([
    ["/bin/false", /exit code 1/],
    ["/usr/sbin/nologin", /account is currently not available/],
  ])("B3: an account whose shell is %s", async (shell, expected) => {
    await using server = await openSshd({ shell });
    await using environment = await openAt(server);
    await expect(collect(environment, "true")).rejects.toMatchObject({
      code: "channel-unopened",
      message: expect.stringMatching(expected),
      hint: expect.stringContaining("chsh"),
    });
  });

  test("control characters from the remote side do not reach the terminal", () => {
    const options = { ssh_user: "me", ssh_host: "host", ssh_port: 22 } as SshEnvironmentOptions["options"];
    const { message } = createSshFailure(options, "\u001b[2J\u202ewiped\u0007\r\n");
    expect(message).toBe("No connection to me@host. ssh reports: [2Jwiped");
  });
});

describeWithOwnSshd("unusual hosts", () => {
  test("B3: a banner and the output of login files are not in the output of commands", async () => {
    await using server = await openSshd({ config: ["Banner /etc/os-release"] });
    await writeFile(join(server.home, ".bashrc"), "echo NOISE; echo NOISE >&2; PS1=x; set -u\n");
    await run("mkdir", [join(server.home, ".ssh")]);
    await writeFile(join(server.home, ".ssh/rc"), "echo NOISE; echo NOISE >&2\n");
    await using environment = await openAt(server);
    const { stdout, stderr, notices } = await collect(environment, "echo out; echo err >&2");
    expect({ stdout, stderr, notices }).toEqual({ stdout: "out\n", stderr: "err\n", notices: [] });
  });

  test("B3: an account whose shell is dash, on a host without bash", async () => {
    await using server = await openSshd({
      shell: "/bin/dash",
      prepare: "for f in /bin/bash /usr/bin/bash; do mount --bind /dev/null $f; done",
    });
    await using environment = await openAt(server);
    const session = environment.openSession();
    const tricky = `cd /tmp && export A='it'"'"'s "x" $y'; command -v bash || echo none`;
    expect((await collect(environment, tricky, { session })).stdout).toBe("none\n");
    expect((await collect(environment, 'pwd; echo "$A"', { session })).stdout).toBe(`/tmp\nit's "x" $y\n`);
    expect((await collect(environment, "cat", { session, stdin: "in" })).stdout).toBe("in");
  });

  test("B3: an account whose shell is not a POSIX shell", async () => {
    await using server = await openSshd({ shell: "/usr/local/bin/hermes-other-shell", prepare: OTHER_SHELL });
    await using environment = await openAt(server);
    expect((await collect(environment, "for i in 1 2; do echo $i; done; echo $?")).stdout).toBe("1\n2\n0\n");
  });

  test.each([
    ["read-only", "mount --bind $HOME_THERE $HOME_THERE; mount -o remount,ro,bind $HOME_THERE"],
    [
      "full",
      "mount -t tmpfs -o size=16k,mode=700 tmpfs $HOME_THERE; cat /dev/zero > $HOME_THERE/fill 2>/dev/null || :",
    ],
  ])("B3: a home folder that is %s does not prevent commands from running", async (_, prepare) => {
    await using server = await openSshd({ prepare });
    await using environment = await openAt(server);
    const session = environment.openSession();
    expect((await collect(environment, "echo x > ~/f", { session })).exitCode).not.toBe(0);
    await collect(environment, "cd /tmp; A=1; export A", { session });
    expect((await collect(environment, "echo $PWD $A", { session })).stdout).toBe("/tmp 1\n");
  });

  test("B3: the commands of one environment share one connection", async () => {
    await using server = await openSshd();
    await using proxy = await openCountingProxy(server.port);
    await using environment = await openAt(server, { ssh_port: proxy.port });
    await Promise.all(Array.from({ length: 4 }, () => collect(environment, "sleep 0.2")));
    await collect(environment, "true");
    expect(proxy.take().connections).toBe(1);
  });
});

/** Like csh and fish, accepts simple words and single quotes, and fails on any other sh syntax. */
const OTHER_SHELL = `
mount -t tmpfs tmpfs /usr/local/bin
cat > /usr/local/bin/hermes-other-shell <<'END'
#!/usr/bin/python3
import os, shlex, sys
words = shlex.split(sys.argv[2])
assert all(word not in ";&|(){}" for word in words), words
os.execvp(words[0], words)
END
chmod 755 /usr/local/bin/hermes-other-shell`;
