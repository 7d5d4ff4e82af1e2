import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { longEnough } from "../support/long-enough.ts";
import { openSandboxHome, type SandboxHome, type SandboxRunOptions } from "../support/sandbox-home.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";

interface ListRow {
  id: string;
  name: string;
  state: string;
  task: string;
  leased: boolean;
  readonly drift: readonly unknown[];
}

interface GcRow {
  id: string;
  action: string;
  reason: string;
}

vi.setConfig({ testTimeout: 600_000 }); // each test starts the program many times

const soon = { timeout: 150_000, interval: 100 };

describeWith("docker", "hermes sandbox exec", (service) => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await openSandboxHome(service);
    expect((await home.exec("true")).stderr).toBe("");
  });
  afterAll(() => home[Symbol.asyncDispose]());
  // In separate processes, because these tests are about exit codes and streams.
  const start = (...args: Parameters<SandboxHome["start"]>) => home.start(...args).ended;
  const exec = (command: string, options?: SandboxRunOptions) => start(["exec", "--", command], options);

  test("passes on the exit code, and keeps the two streams separate", async () => {
    expect(await exec("echo out; echo err >&2; exit 3")).toMatchObject({
      exitCode: 3,
      stdout: "out\n",
      stderr: "err\n",
    });
  });

  test("joins its words with spaces and gives them to the shell, as ssh does", async () => {
    const run = await start(["exec", "--", "printf", "'%s|'", "a b", "c;", "echo", "$((6*7))"]);
    expect(run).toMatchObject({ exitCode: 0, stdout: "a|b|c|42\n" });
  });

  test("-p before -- selects the profile, after it belongs to the command", async () => {
    expect(await start(["exec", "-p", "default", "--", "echo", "-p", "nobody"])).toMatchObject({
      exitCode: 0,
      stdout: "-p nobody\n",
    });
    const refused = await start(["exec", "-p", "nobody", "--", "echo", "never"]);
    expect(refused).toMatchObject({ exitCode: 125, stdout: "" });
    expect(refused.stderr).toContain("There is no profile nobody");
  });

  test("--timeout exits with 124 and a message, and keeps the output so far", async () => {
    const run = await longEnough(
      [0.5, 20, 60],
      (seconds) => start(["exec", "--timeout", `${seconds}`, "--", "echo before; sleep 1000"]),
      ({ stdout }) => stdout !== "",
    );
    expect(run).toMatchObject({ exitCode: 124, stdout: "before\n" });
    expect(run.stderr).toContain("timed out");
  });

  test("--workdir sets the folder of the command; a missing or deleted folder exits with 126 and names it", async () => {
    expect(await start(["exec", "--workdir", "/usr/lib", "--", "pwd"])).toMatchObject({
      exitCode: 0,
      stdout: "/usr/lib\n",
    });
    await home.exec("mkdir -p /tmp/gone && rmdir /tmp/gone");
    const gone = await start(["exec", "--workdir", "/tmp/gone", "--", "echo never"]);
    expect(gone).toMatchObject({ exitCode: 126, stdout: "" });
    expect(gone.stderr).toContain("/tmp/gone");
  });

  test("piped input of a megabyte comes back byte for byte", async () => {
    const input = randomBytes(1_000_000);
    const run = await exec("cat", { stdin: input });
    expect(run.exitCode).toBe(0);
    expect(run.bytes.equals(input)).toBe(true);
  });

  test("an input that stays open delays neither a command that does not read it nor our process", async () => {
    expect(await exec("echo quick; exit 5", { stdin: "open" })).toMatchObject({
      exitCode: 5,
      stdout: "quick\n",
      stderr: "",
    });
  });

  test("output of many megabytes with NUL and invalid UTF-8 arrives complete", async () => {
    const run = await exec("head -c 20000000 /dev/zero; printf '\\377end'");
    expect(run.bytes.length).toBe(20_000_004);
    expect(run.bytes.subarray(-4).toString("latin1")).toBe("\u00ffend");
  });

  test("a reader that closes the pipe early ends the command, and the exit code is 141", async () => {
    const started = home.start(["exec", "--", "while :; do echo 7654321; done"]);
    await started.printed("7654321");
    started.hangUp();
    expect((await started.ended).exitCode).toBe(141);
    await vi.waitFor(async () => expect(await home.processes()).not.toContain("7654321"), soon);
  });

  test.each([
    ["a closed descriptor", "exec 0<&- 1>&- 2>&-; exit 4", 4],
    ["exec", "exec sh -c 'exit 9'", 9],
    ["its parent killed", "kill -9 $PPID; sleep 600", 125],
    ["a kill of every process that it can reach", "kill -9 -1", 125],
  ])("%s ends only that command, with a correct result", async (_, command, exitCode) => {
    const run = await start(["exec", "--timeout", "150", "--", command]);
    expect(run.exitCode, run.stderr).toBe(exitCode);
    expect(await exec("echo fine")).toMatchObject({ exitCode: 0, stdout: "fine\n" });
  });

  test("F40: a daemon that holds stdout open does not delay the command", async () => {
    const run = await exec("sleep 1717 & echo started");
    expect(run).toMatchObject({ exitCode: 0, stdout: "started\n" });
    await vi.waitFor(async () => expect(await home.processes()).toContain("sleep 1717"), soon);
    await home.exec("pkill -f 'sleep 171[7]'");
  });

  test.each([
    ["no input", undefined],
    ["piped input", ""],
  ])(
    "F1: after a timeout docker top shows none of its children, however they were started (%s)",
    async (_, stdin) => {
      await home.exec("sleep 1111 >/dev/null 2>&1 & true");
      const [before] = await home.containers();
      const children = [
        "sleep 4441 &",
        "setsid sleep 4442 &",
        "env -i sleep 4443 &",
        "su nobody -s /bin/sh -c 'sleep 4444' &",
        "su nobody -s /bin/sh -c 'setsid sleep 4445' &",
        "(trap '' TERM; sleep 4446) &",
      ];
      const script = [...children, "echo up", "wait"].join("\n");
      const { allSeen, run } = await longEnough(
        [2, 20, 60],
        async (seconds) => {
          const started = home.start(["exec", "--timeout", `${seconds}`, "--", script], { stdin });
          let hasEnded = false;
          const ended = started.ended.finally(() => {
            hasEnded = true;
          });
          let allSeen = false;
          await started.printed("up").catch(() => undefined);
          while (!allSeen && !hasEnded) allSeen = /(sleep 444[1-6][\s\S]*){6}/.test(await home.processes());
          return { allSeen, run: await ended };
        },
        ({ allSeen }) => allSeen,
      );
      expect(allSeen).toBe(true);
      expect(run.exitCode, run.stderr).toBe(124);
      expect(run.stderr).not.toContain("could not be ended");
      const after = await home.processes();
      expect(after).not.toMatch(/sleep 444/);
      expect(after).toContain("sleep 1111"); // a process of an earlier command does not belong to this one
      expect(await home.exec("echo next")).toMatchObject({ exitCode: 0, stdout: "next\n" });
      expect(await home.containers()).toEqual([before]);
      await home.exec("pkill -f 'sleep 111[1]'");
    },
  );
});

describeWith("docker", "hermes sandbox refuses", (service) => {
  test.concurrent.each([["modal"], ["daytona"], ["dokcer"], [""], ["ssh"]])(
    "F24: backend %j, unknown, not built or half configured, is an error and never runs the command on this machine",
    async (backend) => {
      await using home = await openSandboxHome(service, { TERMINAL_ENV: backend });
      const proof = join(home.folder, "ran-here");
      const run = await home.exec(`touch ${proof}; echo ran`);
      expect(run).toMatchObject({ exitCode: 125, stdout: "" });
      expect(run.stderr).toMatch(/not built yet|expected one of|ssh_host is not set/);
      expect(await readdir(home.folder)).not.toContain("ran-here");
    },
  );

  // No test may leave anything behind, so all share one home.
  let shared: SandboxHome;
  beforeAll(async () => {
    shared = await openSandboxHome(service);
  });
  afterAll(() => shared[Symbol.asyncDispose]());

  test.each([
    ["an engine that does not run", { DOCKER_HOST: "unix:///nowhere/docker.sock" }, /Start it/],
    ["a client that does not exist", { HERMES_DOCKER_BINARY: "/nowhere/docker" }, /docker_binary/],
    [
      "an image that cannot be fetched",
      { TERMINAL_DOCKER_IMAGE: "127.0.0.1:9/none" },
      /Check terminal.docker_image/,
    ],
    ["a mount source that is missing", { TERMINAL_DOCKER_VOLUMES: '["/nowhere/x:/x"]' }, /Create it/],
    ["F20: a mount of the whole file system", { TERMINAL_DOCKER_VOLUMES: '["/:/x"]' }, /project folder/],
  ])("%s: exit code 125, an empty stdout, and a hint", async (_, settings, advice) => {
    const run = await shared.exec("echo never", { env: settings });
    expect(run).toMatchObject({ exitCode: 125, stdout: "" });
    expect(run.stderr).toMatch(advice);
    expect(await shared.containers()).toEqual([]);
  });

  test.concurrent("F20: a mount of the home folder, of the state folder or of something above them", async () => {
    await using home = await openSandboxHome(service);
    await mkdir(home.path, { recursive: true });
    for (const source of [home.folder, home.path, join(home.folder, "..")]) {
      const env = { TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${source}:/x`]) };
      const run = await home.exec("ls /x", { env });
      expect(run, source).toMatchObject({ exitCode: 125, stdout: "" });
      expect(run.stderr).toMatch(/Refused to mount/);
    }
    expect(await home.containers()).toEqual([]);
  });

  test("after all these errors the home is still usable", async () => {
    expect(await shared.exec("echo usable")).toMatchObject({ exitCode: 0, stdout: "usable\n", stderr: "" });
  });
});

describeWith("docker", "a sandbox of hermes", (service) => {
  // First, because it only waits, while the other tests of this suite run.
  test.concurrent("a client that hangs is aborted with the reason", async () => {
    await using home = await openSandboxHome(service);
    const client = join(home.folder, "hanging-client");
    await writeFile(client, "#!/bin/sh\nexec sleep 1000\n");
    await chmod(client, 0o755);
    const run = await home.exec("echo never", { env: { HERMES_DOCKER_BINARY: client } });
    expect(run).toMatchObject({ exitCode: 125, stdout: "" });
    expect(run.stderr).toMatch(/hangs.*\n.*Restart the engine/);
  }, 600_000);

  test.concurrent("C3, F18: tasks with colons, slashes, emoji or 200 characters in their name each have their own sandbox", async () => {
    await using home = await openSandboxHome(service);
    const tasks = ["a:b/🦊", "a/b:🦊", `../../up${"x".repeat(192)}`];
    for (const task of tasks) {
      expect(await home.sandbox(["exec", "--task", task, "--", "hostname"]), task).toMatchObject({
        exitCode: 0,
        stderr: "",
      });
    }
    const rows = (await home.sandbox(["list", "--json"])).json<ListRow[]>();
    expect(rows.map((row) => row.task).sort()).toEqual([...tasks].sort());
    expect(new Set(rows.map((row) => row.id)).size).toBe(tasks.length);
    expect(rows.map((row) => row.drift)).toEqual(rows.map(() => []));
    expect((await readdir(join(home.folder, ".."))).filter((name) => name.startsWith("upxxx"))).toEqual([]);
  });

  test.concurrent.each(["bash", "busybox"] as const)(
    "is found again by the next process, and only the foreground command of a killed owner ends, within seconds (%s)",
    async (image) => {
      await using home = await openSandboxHome(service, { TERMINAL_DOCKER_IMAGE: service.images[image] });
      // Commands with piped input use different code.
      const inputs = [undefined, ""] as const;
      const install = [
        "mkdir -p /usr/local/bin",
        "printf '#!/bin/sh\\necho installed\\n' > /usr/local/bin/tool",
        "chmod +x /usr/local/bin/tool",
        "echo kept > /workspace/file",
        "sleep 1000 >/dev/null 2>&1 &",
        "sleep 1001 &",
        "hostname",
      ];
      const made = await home.start(["exec", "--", install.join("\n")]).ended;
      const inspect = "hostname; /usr/local/bin/tool; cat /workspace/file";
      const found = await home.start(["exec", "--", inspect], { stdin: "" }).ended;
      expect(found.stdout).toBe(`${made.stdout}installed\nkept\n`);
      await vi.waitFor(
        async () => expect(await home.processes()).toMatch(/sleep 1000\n[\s\S]*sleep 1001/),
        soon,
      );

      const command = "setsid sleep 2000 & (sleep 2001; echo late) | cat & echo started; wait";
      const owners = inputs.map((stdin) => home.start(["exec", "--", command], { stdin }));
      const siblings = inputs.map((stdin) => home.start(["exec", "--", "echo there; sleep 3000"], { stdin }));
      await Promise.all([
        ...owners.map((owner) => owner.printed("started")),
        ...siblings.map((sibling) => sibling.printed("there")),
      ]);
      const countOf = async (sleep: string) => (await home.processes()).split(sleep).length - 1;
      await vi.waitFor(async () => expect(await countOf("sleep 3000")).toBe(2), soon); // they start a moment after the output
      for (const owner of owners) owner.kill();
      for (const owner of owners) expect((await owner.ended).exitCode).toBeNull();
      await vi.waitFor(async () => expect(await countOf("sleep 200")).toBe(0), soon);
      expect(await countOf("sleep 1000")).toBe(1);
      expect(await countOf("sleep 3000")).toBe(2);
      for (const sibling of siblings) sibling.kill();
      for (const sibling of siblings) await sibling.ended;
      await vi.waitFor(async () => expect(await countOf("sleep 3000")).toBe(0), soon);
      expect(await countOf("sleep 1000")).toBe(1);
      expect(await home.containers()).toHaveLength(1);
    },
  );

  test.concurrent("F4: many processes at once in a fresh home: every result is correct, and one container exists", async () => {
    await using home = await openSandboxHome(service);
    const runs = await Promise.all(
      Array.from(
        { length: scale.processes },
        (_, index) => home.start(["exec", "--", `echo ${index} $((${index} * ${index})) $(hostname)`]).ended,
      ),
    );
    const [id = ""] = await home.containers();
    const hostname = id.slice(0, 12);
    expect(runs.map((run) => run.stdout)).toEqual(
      runs.map((_, index) => `${index} ${index * index} ${hostname}\n`),
    );
    expect(runs.map((run) => run.exitCode)).toEqual(runs.map(() => 0));
    expect(await home.containers()).toHaveLength(1);
  }, 600_000);

  test.concurrent("F31, F32: a forwarded value reaches the command, but appears in no argv, inspect output or file", async () => {
    const secret = `s3cret${randomBytes(12).toString("hex")}`;
    await using home = await openSandboxHome(service, {
      TERMINAL_DOCKER_FORWARD_ENV: '["API_TOKEN"]',
      API_TOKEN: secret,
    });
    const seen = await home.exec('echo "[$API_TOKEN]"; export COPY=1; cd /tmp');
    expect(seen.stdout).toBe(`[${secret}]\n`);
    const running = home.start(["exec", "--", 'echo "[$API_TOKEN]"; sleep 500']);
    await running.printed(secret);
    const argv = await vi.waitFor(async () => {
      const lines = await commandLines();
      expect(lines).toContain("sleep 500"); // it starts a moment after the output before it
      return lines;
    }, soon);
    expect(argv.filter((line) => line.includes(secret))).toEqual([]);
    const [id = ""] = await home.containers();
    expect(await home.docker("inspect", id)).not.toContain(secret);
    const files = await home.docker(
      ...["exec", id, "sh", "-c"],
      `grep -rlsF --exclude-dir=proc --exclude-dir=sys ${secret.slice(0, 20)} / | head; echo searched`,
    );
    expect(files).toBe("searched");
    running.kill();
    await running.ended;
    expect(await filesWith(secret, home.path)).toEqual([]);
    expect((await home.exec("env", { env: { TERMINAL_DOCKER_FORWARD_ENV: "[]" } })).stdout).not.toContain(
      secret,
    );
  }, 600_000);
});

describeWith("docker", "managing sandboxes", (service) => {
  test.concurrent("explain reports the access of the sandbox, and list --json has the fields that scripts rely on", async () => {
    await using home = await openSandboxHome(service);
    const missing = await home.sandbox(["explain"]);
    expect(missing.stderr).toContain("does not exist yet");
    const ofTask = await home.sandbox(["explain", "--task", "a task"]);
    expect(ofTask.stderr).toContain("`hermes sandbox exec --task 'a task' -- true`");
    await home.exec("true");
    expect((await home.sandbox(["explain"])).stdout).toMatch(/network none\n.*user.*\n/);
    const rows = (await home.sandbox(["list", "--json"])).json<ListRow[]>();
    const [id] = await home.containers();
    expect(rows).toEqual([
      expect.objectContaining({
        id,
        name: expect.stringMatching(/^hermes-default-/),
        state: "running",
        image: service.images.bash,
        profile: "default",
        task: "default",
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        last_used_at: expect.stringMatching(/^\d{4}-.*Z$/),
        leased: false,
        drift: [],
        size_bytes: expect.any(Number),
      }),
    ]);
  });

  test.concurrent("F8: rm and stop refuse while the sandbox is in use, unless --force is given", async () => {
    await using home = await openSandboxHome(service);
    for (const verb of ["rm", "stop"]) {
      const user = home.start(["exec", "--", "echo here; sleep 600"]);
      await user.printed("here");
      expect((await home.sandbox(["list", "--json"])).json<ListRow[]>()).toMatchObject([
        { leased: true, held_by: [{ pid: user.pid, command: expect.stringContaining("sleep 600") }] },
      ]);
      const holder = `by process ${user.pid} (hermes sandbox exec -- echo here; sleep 600) since 20`;
      expect((await home.sandbox(["status"])).stdout).toContain(`in use     ${holder}`);
      const refused = await home.sandbox([verb]);
      expect(refused.exitCode).not.toBe(0);
      expect(refused.stderr).toContain(`is in use ${holder}`);
      expect(refused.stderr).toMatch(/in use.*\n.*--force/);
      await vi.waitFor(async () => expect(await home.processes()).toContain("sleep 600"), soon);
      expect(await home.sandbox([verb, "--force"])).toMatchObject({ exitCode: 0 });
      const end = await user.ended;
      expect(end.exitCode).toBe(125);
      expect(end.stderr).toMatch(/not run again/);
      const states = (await home.sandbox(["list", "--json"])).json<ListRow[]>().map((row) => row.state);
      expect(states).toEqual(verb === "rm" ? [] : ["exited"]);
      expect(await home.exec("echo again")).toMatchObject({ exitCode: 0, stdout: "again\n" });
    }
  });

  test.concurrent("C50, F6: gc stops a sandbox that was unused for long, but not one with a user's process or another live process of ours", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_IDLE_TTL_SECONDS: "1" });
    for (const task of ["idle", "job", "held"]) {
      const left = task === "job" ? "sleep 900 >/dev/null 2>&1 &" : "true";
      expect((await home.sandbox(["exec", "--task", task, "--", left])).exitCode).toBe(0);
    }
    const sibling = home.start(["exec", "--task", "held", "--", "echo here; sleep 600"]);
    await sibling.printed("here");
    const gc = async (...flags: string[]) => {
      const rows = (await home.sandbox(["gc", "--json", ...flags])).json<(GcRow & ListRow)[]>();
      return Object.fromEntries(rows.map(({ task, action }) => [task, action]));
    };
    const expected = { idle: "stopped", job: "kept", held: "kept" };
    await vi.waitFor(async () => expect(await gc("--dry-run")).toEqual(expected), soon);
    const running = async () =>
      (await home.sandbox(["list", "--json"]))
        .json<ListRow[]>()
        .flatMap(({ state, task }) => (state === "running" ? [task] : []))
        .sort();
    expect(await running()).toEqual(["held", "idle", "job"]); // a dry run does nothing
    expect(await gc()).toEqual(expected);
    expect(await running()).toEqual(["held", "job"]);
    expect(await home.sandbox(["exec", "--task", "idle", "--", "echo awake"])).toMatchObject({ exitCode: 0 });
    sibling.kill();
    await sibling.ended;
  }, 600_000);

  test.concurrent("gc of one profile leaves the sandboxes of another alone", async () => {
    await using mine = await openSandboxHome(service, { TERMINAL_DOCKER_IDLE_TTL_SECONDS: "1" });
    await using other = await openSandboxHome(service, { TERMINAL_DOCKER_IDLE_TTL_SECONDS: "1" });
    await Promise.all([mine.exec("true"), other.exec("true")]);
    await vi.waitFor(
      async () =>
        expect((await mine.sandbox(["gc", "--json"])).json<GcRow[]>()).toMatchObject([{ action: "stopped" }]),
      soon,
    );
    expect((await other.sandbox(["list", "--json"])).json<ListRow[]>()).toMatchObject([{ state: "running" }]);
  });
});

/** The arguments of every process of this machine, including those in containers. */
async function commandLines(): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const texts = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")); // the process may have exited
  return (await Promise.all(texts)).map((text) => text.replaceAll("\0", " ").trim());
}

/** The files below a folder that contain the text. */
async function filesWith(text: string, folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(
    paths.map(async (path) => ((await readFile(path, "latin1")).includes(text) ? [path] : [])),
  );
  return found.flat();
}
