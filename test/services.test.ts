import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { describeWith, loadPart, parseServicesStatus, type RunningPart } from "./support/services.ts";

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    // Podman's monitor leaves a file named "oom" in the folder it runs in.
    const options = { cwd: tmpdir(), env: { ...process.env, ...env }, timeout: 150_000 };
    execFile(file, args, options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

/** Empty if the process has exited, even if it is still a zombie. */
function commandOf(pid: number | string): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
}

async function tempFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "hts-")); // short, because it contains sockets
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

function testContainerEngine(
  engine: (...args: string[]) => Promise<Outcome>,
  images: { readonly bash: string; readonly busybox: string },
): void {
  it("runs a command in the Debian image, which has bash, setsid and ps", async () => {
    const script = "type -P setsid ps pkill && echo $BASH_VERSION";
    const { code, stdout } = await engine(
      "run",
      "--rm",
      "--network",
      "none",
      images.bash,
      "bash",
      "-c",
      script,
    );
    expect(stdout).toMatch(/setsid\n.*ps\n.*pkill\n\d/);
    expect(code).toBe(0);
  });

  it("runs a command in the busybox image, which has sh and setsid but no bash", async () => {
    const script = "command -v setsid; command -v bash || echo no bash";
    const { stdout } = await engine("run", "--rm", "--network", "none", images.busybox, "sh", "-c", script);
    expect(stdout).toBe("setsid\nno bash\n");
  });

  it.each(["bash", "busybox"] as const)(
    "puts an init above a command in the %s image and gives it no network",
    async (name) => {
      const script = "[ $$ -gt 1 ] && ls /sys/class/net";
      const { stdout } = await engine(
        "run",
        "--rm",
        "--init",
        "--network",
        "none",
        images[name],
        "sh",
        "-c",
        script,
      );
      expect(stdout).toBe("lo\n");
    },
  );

  it("gives a container its own network by default", async () => {
    const { stdout } = await engine("run", "--rm", images.busybox, "ls", "/sys/class/net");
    expect(stdout).toBe("eth0\nlo\n");
  });

  it("kills a command that exceeds the memory limit of its container", async () => {
    const script = "x=$(head -c 100000000 /dev/zero | tr '\\0' a); echo survived";
    const limits = ["--network", "none", "--memory", "32m", "--memory-swap", "32m"];
    const { code, stdout } = await engine("run", "--rm", ...limits, images.bash, "bash", "-c", script);
    expect(stdout).not.toContain("survived");
    expect(code).toBe(137);
  });
}

describeWith("docker", "the Docker engine", ({ client, host, images }) => {
  testContainerEngine((...args) => run(client, ["--host", host, ...args]), images);
});

describeWith("podman", "Podman", ({ client, env, images }) => {
  testContainerEngine((...args) => run(client, args, env), images);
});

function runOver(ssh: RunningPart<"ssh">, command: string): Promise<Outcome> {
  const options = ["BatchMode=yes", "IdentitiesOnly=yes", `UserKnownHostsFile=${ssh.knownHosts}`];
  return run("ssh", [
    ...["-F", "none", "-i", ssh.identityFile, "-p", String(ssh.port)],
    ...options.flatMap((option) => ["-o", option]),
    `${ssh.user}@${ssh.host}`,
    command,
  ]);
}

describeWith("ssh", "the SSH server", (ssh) => {
  it("runs a command and returns its output and exit code", async () => {
    const { code, stdout } = await runOver(ssh, "id -un; exit 3");
    expect(stdout).toBe(`${ssh.user}\n`);
    expect(code).toBe(3);
  });

  it("runs commands that an interrupt can end", async () => {
    const { stdout } = await runOver(ssh, "grep SigIgn /proc/self/status");
    const interrupt = 1n << 1n;
    expect(BigInt(`0x${stdout.split("\t")[1]?.trim()}`) & interrupt).toBe(0n);
  });
});

describeWith("postgres", "the PostgreSQL server", ({ url }) => {
  const query = (sql: string, target = url) => run("psql", ["-X", "-A", "-t", "-c", sql, target]);

  it("answers a query", async () => {
    expect((await query("select 1")).stdout).toBe("1\n");
  });

  it("syncs its commits", async () => {
    expect((await query("show fsync")).stdout).toBe("on\n");
  });

  it("refuses a wrong password", async () => {
    const wrong = new URL(url);
    wrong.password = "wrong";
    expect((await query("select 1", wrong.href)).stderr).toContain("authentication failed");
  });
});

describeWith("chromium", "Chromium", ({ executable }) => {
  it("runs a page's script and dumps the resulting document", async () => {
    await using profile = await tempFolder();
    const page = "<p id=p>before</p><script>document.getElementById('p').textContent = 6 * 7</script>";
    const { stdout } = await run(executable, [
      ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
      ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
      `--user-data-dir=${profile.path}`,
      "--dump-dom",
      `data:text/html,${encodeURIComponent(page)}`,
    ]);
    expect(stdout).toContain('<p id="p">42</p>');
  });
});

const script = fileURLToPath(new URL("../scripts/test-services", import.meta.url));

/** Services in a separate folder, so that killing them does not affect other tests. */
async function openServices() {
  const folder = await tempFolder();
  const services = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    run(script, args, { ...env, HERMES_TEST_SERVICES: folder.path });
  return {
    folder: folder.path,
    services,
    async start(part: "ssh"): Promise<RunningPart<"ssh">> {
      const { stderr } = await services(["start", part]);
      const started = loadPart(part, folder.path);
      if (started.state !== "running") throw new Error(`${part}: ${started.reason}\n${stderr}`);
      return started;
    },
    async status() {
      return parseServicesStatus((await services(["status", "--json"])).stdout).parts;
    },
    async [Symbol.asyncDispose]() {
      await services(["stop"]);
      await folder[Symbol.asyncDispose]();
    },
  };
}

describeWith("ssh", "scripts/test-services", () => {
  it("starts a part once, however often start is called", async () => {
    await using own = await openServices();
    const first = await own.start("ssh");
    expect(await own.start("ssh")).toEqual(first);
  });

  it("starts one server for two concurrent calls of start", async () => {
    await using own = await openServices();
    const [first, second] = await Promise.all([own.start("ssh"), own.start("ssh")]);
    expect(second.process).toEqual(first.process);
  });

  it("does not report a killed server as running, and starts another one instead", async () => {
    await using own = await openServices();
    const killed = await own.start("ssh");
    process.kill(killed.process.pid, "SIGKILL");
    await vi.waitUntil(() => loadPart("ssh", own.folder).state === "stopped", { timeout: 150_000 });
    expect((await own.status()).ssh).toMatchObject({
      state: "stopped",
      reason: expect.stringContaining("start"),
    });

    const next = await own.start("ssh");
    expect(next.process.pid).not.toBe(killed.process.pid);
    expect((await runOver(next, "echo back")).stdout).toBe("back\n");
  });

  it("ends the server and the processes of its sessions, and removes their records", async () => {
    await using own = await openServices();
    const ssh = await own.start("ssh");
    const session = runOver(ssh, `echo $$ > ${own.folder}/session; exec sleep 600`);
    const pid = await vi.waitUntil(() => readFile(join(own.folder, "session"), "utf8").catch(() => ""), {
      timeout: 150_000,
    });
    expect((await own.services(["stop"])).code).toBe(0);

    expect((await session).code).not.toBe(0);
    expect(await commandOf(pid.trim())).toBe("");
    expect(await commandOf(ssh.process.pid)).toBe("");
    expect((await own.status()).ssh.state).toBe("stopped");
    expect((await own.services(["stop"])).code).toBe(0);
  });

  it("neither counts nor ends another process that reuses the pid of a dead server", async () => {
    await using own = await openServices();
    const { process: server } = await own.start("ssh");
    process.kill(server.pid, "SIGKILL");
    const other = spawn("sleep", ["600"]);
    try {
      const record = join(own.folder, "ssh/process");
      const recorded = await readFile(record, "utf8");
      await writeFile(record, recorded.replace(String(server.pid), String(other.pid)));
      expect((await own.status()).ssh.state).toBe("stopped");
      expect((await own.services(["stop"])).code).toBe(0);
      expect(other.exitCode ?? other.signalCode).toBeNull();
    } finally {
      other.kill();
      await once(other, "exit");
    }
  });

  it("reports parts that are missing and may not be installed as skipped, which is not a failure", async () => {
    await using own = await openServices();
    const env = { HERMES_TEST_NO_INSTALL: "1", XDG_CACHE_HOME: join(own.folder, "empty-cache") };
    const { code, stderr } = await own.services(["start", "docker"], env);
    expect(stderr).toMatch(/docker: skipped: (missing|needs root|no cached images)/);
    expect(code).toBe(0);
    expect(loadPart("docker", own.folder)).toMatchObject({
      state: "unavailable",
      reason: expect.any(String),
    });
  });
});

describe("the command line of scripts/test-services", () => {
  it("prints help with examples", async () => {
    const { code, stdout } = await run(script, ["--help"]);
    expect(stdout).toContain("Examples:");
    expect(code).toBe(0);
  });

  it.each([
    { args: [] },
    { args: ["restart"] },
    { args: ["start", "oracle"] },
    { args: ["stop", "ssh"] },
    { args: ["status", "--yaml"] },
  ])("refuses $args with exit code 2", async ({ args }) => {
    const { code, stderr } = await run(script, args);
    expect(stderr).toContain("Usage:");
    expect(code).toBe(2);
  });
});
