import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type HermesRun, tempHome } from "../support/hermes.ts";
import { spawnInPty } from "../support/pty.ts";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { describeWith } from "../support/services.ts";

interface JobRow {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly exit_code: number | null;
  readonly input: string;
  readonly lifetime: string;
}

const ENTRY = fileURLToPath(new URL("../../dist/main.cjs", import.meta.url));
const soon = { timeout: 150_000, interval: 100 };
const local = { TERMINAL_ENV: "local" };

/** A home whose commands run on this machine. */
async function localHome() {
  const home = await tempHome();
  const env = { ...local, TMPDIR: home.folder };
  const sandbox = (args: readonly string[], stdin?: string) =>
    home.hermes(["sandbox", ...args], { env, cwd: home.folder, ...(stdin === undefined ? {} : { stdin }) });
  const follow = (args: readonly string[]) => home.start(["sandbox", ...args], { env, cwd: home.folder });
  const start = async (...args: readonly string[]) => {
    const run = await sandbox(["jobs", "start", ...args]);
    expect(run.stderr).toBe("");
    return run.stdout.trim();
  };
  const rows = async () =>
    (await home.hermes(["sandbox", "jobs", "--all", "--json"], { env })).json<JobRow[]>();
  const ended = (id: string) =>
    vi.waitFor(async () => {
      const row = (await rows()).find((candidate) => candidate.id === id);
      expect(row?.state).toBe("ended");
      return row;
    }, soon);
  const base = { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path };
  return { ...home, variables: { ...base, ...env }, sandbox, follow, start, rows, ended };
}

test("a user starts a job, lists it, and reads its output and exit code", async () => {
  await using home = await localHome();
  expect((await home.sandbox(["jobs"])).stdout).toBe("No jobs are running.\n");
  const go = join(home.folder, "go");
  const id = await home.start(
    "--",
    "echo",
    "one;",
    `until [ -e ${go} ]; do sleep 0.1; done; echo two; exit 3`,
  );
  expect(id).toMatch(/^proc_[0-9a-f]{12}$/);
  expect((await home.sandbox(["jobs"])).stdout).toContain(id);
  const { child, ended } = home.follow(["jobs", "log", "--follow", id.slice(5, 11)]);
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  await writeFile(go, "");
  expect(await ended).toMatchObject({ exitCode: 0, stdout: "one\ntwo\n" });
  expect(await home.ended(id)).toMatchObject({ reason: "exited", exit_code: 3, lifetime: "persistent" });
  expect((await home.sandbox(["jobs"])).stdout).toContain("--all");
});

test("F45: a job that cannot start exits with 125 and the reason; F49: an unknown job cannot be killed", async () => {
  await using home = await localHome();
  const nowhere = await home.sandbox(["jobs", "start", "--workdir", "/no/such", "--", "true"]);
  expect(nowhere).toMatchObject({ exitCode: 125, stdout: "" });
  expect(nowhere.stderr).toContain("the folder does not exist");
  const unknown = await home.sandbox(["jobs", "kill", "proc_0000"]);
  expect(unknown).toMatchObject({ exitCode: 1, stdout: "" });
  expect(unknown.stderr).toContain("the job proc_0000 does not exist");
});

test("F72: starting the same command again works, and names the job that already runs it", async () => {
  await using home = await localHome();
  const id = await home.start("--", "sleep", "600");
  const again = await home.sandbox(["jobs", "start", "--json", "--", "sleep", "600"]);
  expect(again.json()).toMatchObject({ state: "running", alike: [id] });
  expect(again.stderr).toContain(`${id} runs the same command`);
  for (const { id } of await home.rows()) expect((await home.sandbox(["jobs", "kill", id])).exitCode).toBe(0);
});

test("attach sends piped lines and ends with the job's exit code", async () => {
  await using home = await localHome();
  const id = await home.start("--input", "--", 'read a; echo "got $a"; cat; exit 5');
  const run = await home.sandbox(["attach", "--eof", id], "first\nrest\n");
  expect(run).toMatchObject({ exitCode: 5, stdout: "got first\nrest\n" });
  const attached = await home.sandbox(["attach", id]);
  expect(attached).toMatchObject({ exitCode: 5, stdout: "got first\nrest\n" });
  const stopped = await home.start("--", "sleep 600");
  await home.sandbox(["jobs", "kill", stopped]);
  const end = await home.sandbox(["attach", stopped]);
  expect(end).toMatchObject({ exitCode: 143, stderr: expect.stringContaining("by signal 15") });
});

test("F51: a user answers a job's question in a real terminal without a trace in the log, and detaches with Ctrl-]", async () => {
  await using home = await localHome();
  const ask =
    "stty -echo; printf 'Password: '; read p; stty echo; echo; echo length=$(printf %s \"$p\" | wc -c); cat";
  const id = await home.start("--pty", "--", ask);
  const secret = `s-${randomBytes(6).toString("hex")}`;
  const terminal = openTerminal(["sandbox", "attach", id], home.variables);
  try {
    await terminal.shows("Ctrl-] detaches");
    await terminal.shows("Password: ");
    terminal.type(`${secret}\r`);
    await terminal.shows(`length=${secret.length}`);
    terminal.type("seen\r");
    await terminal.shows(/seen\r+\nseen/);
    terminal.type("\u001d");
    expect(await terminal.exitCode()).toBe(0);
    expect(terminal.screen()).toContain("is still running");
    expect(terminal.screen()).not.toContain(secret);
  } finally {
    terminal.kill();
  }
  const log = await home.sandbox(["jobs", "log", id]);
  expect(log.stdout).toContain("length=14");
  expect(log.stdout).not.toContain(secret);
  expect((await home.rows())[0]).toMatchObject({ id, state: "running", input: "terminal" });
  expect((await home.sandbox(["jobs", "kill", id])).stderr).toContain("killed");
});

test("a job on a terminal receives Ctrl-C, gets the size of the attached window, and accepts input after Ctrl-D", async () => {
  await using home = await localHome();
  const sized = (rows: number, columns: number) =>
    `until [ "$(stty size)" = "${rows} ${columns}" ]; do sleep 0.1; done; echo sized ${rows}`;
  const id = await home.start(
    "--pty",
    "--",
    `${sized(24, 80)}; ${sized(33, 99)}; cat; echo first over; trap 'echo heard' INT; cat; printf 'a\\nb\\n'; cat`,
  );
  const terminal = openTerminal(["sandbox", "attach", id], home.variables);
  try {
    await terminal.shows("sized 24");
    terminal.resize(33, 99);
    await terminal.shows("sized 33");
    terminal.type("\u0004");
    await terminal.shows("first over");
    terminal.type("typed\r");
    await terminal.shows(/typed\r\ntyped\r\n/);
    terminal.type("\u0003");
    await terminal.shows(/heard\r\na\r\nb\r\n/);
    terminal.type("\u001d");
    expect(await terminal.exitCode()).toBe(0);
    expect(terminal.screen()).toMatch(/\r\nhermes: detached; .* is still running\.\r\ncode=0\r\n$/);
  } finally {
    terminal.kill();
  }
  await home.sandbox(["jobs", "kill", id]);
});

test("a job that reads from a pipe accepts input after Ctrl-D, and its input ends only on request", async () => {
  await using home = await localHome();
  const id = await home.start("--input", "--", "cat; exit 4");
  const terminal = openTerminal(["sandbox", "attach", id], home.variables);
  try {
    await terminal.shows("Ctrl-] and Enter");
    terminal.type("\u0004");
    await terminal.shows("stays open");
    terminal.type("typed\r");
    await terminal.shows(/typed\r\ntyped\r\n/);
    terminal.type("\u001d\r");
    expect(await terminal.exitCode()).toBe(0);
  } finally {
    terminal.kill();
  }
  const last = openTerminal(["sandbox", "attach", "--eof", id], home.variables);
  try {
    await last.shows("Ctrl-] and Enter");
    last.type("\u0004");
    expect(await last.exitCode()).toBe(4);
  } finally {
    last.kill();
  }
});

describeWith("docker", "hermes sandbox jobs in docker", (service) => {
  // One sandbox for all tests: each of them leaves it without a running job.
  let home: SandboxHome;
  beforeAll(async () => {
    home = await openSandboxHome(service, { TERMINAL_DOCKER_ORPHAN_REAPER: "off" });
  });
  afterAll(async () => {
    await home.sandbox(["prune", "--all"]);
    await home[Symbol.asyncDispose]();
  });
  const command = "sleep 600; touch /root/result";
  const startJob = async () => {
    const { exitCode, stdout, stderr } = await home.sandbox(["jobs", "start", "--", command]);
    expect(exitCode, stderr).toBe(0);
    return stdout.trim();
  };
  const killJob = async (id: string) =>
    expect(await home.sandbox(["jobs", "kill", id])).toMatchObject({ exitCode: 0 });

  test("F46: a job that A started before it was killed is listed, read completely and killed by B; docker top then shows none of it", async () => {
    const a = home.start([
      "jobs",
      "start",
      "--",
      "echo first; i=0; while :; do i=$((i+1)); echo more $i; sleep 0.1; done",
    ]);
    await a.printed("proc_");
    a.kill();
    const id = (await a.ended).stdout.trim();
    const listed = (await home.sandbox(["jobs", "--json"])).json<JobRow[]>();
    expect(listed).toMatchObject([{ id, state: "running" }]);
    await vi.waitFor(async () => {
      expect((await home.sandbox(["jobs", "log", id])).stdout).toMatch(/^first\nmore 1\nmore 2\nmore 3\n/);
    }, soon);
    expect(await home.processes()).toContain("hermes-job");
    await killJob(id);
    expect(await home.processes()).not.toContain("hermes-job");
    expect((await home.sandbox(["jobs", "--json"])).json()).toEqual([]);
  });

  test("status shows a running job, gc keeps its sandbox, however idle or old, and it is not replaced; a killed job does not prevent a stop", async () => {
    const id = await startJob();
    const { stdout } = await home.sandbox(["status"]);
    expect(stdout).toMatch(/^in use +yes$/m);
    expect(stdout).toMatch(new RegExp(`^jobs +${id} \\(sleep 600; touch /root/result\\)$`, "m"));
    expect((await home.sandbox(["status", "--json"])).json()).toMatchObject({ jobs: [{ id, command }] });

    const reason = expect.stringContaining(`the job ${id} (${command}) runs in it`);
    for (const limit of ["TERMINAL_DOCKER_IDLE_TTL_SECONDS", "TERMINAL_DOCKER_MAX_AGE_SECONDS"]) {
      await vi.waitFor(async () => {
        const gc = await home.sandbox(["gc", "--dry-run", "--json"], { env: { [limit]: "1" } });
        expect(gc.json()).toMatchObject([{ action: "kept", reason }]);
      }, soon);
    }

    const env = { TERMINAL_DOCKER_PIDS_LIMIT: "512", TERMINAL_DOCKER_ON_DRIFT: "replace" };
    expect((await home.exec("true", { env })).stderr).toContain("will be replaced when it is free");
    await expect.poll(() => home.processes()).toContain("sleep 600");

    await killJob(id);
    expect((await home.sandbox(["status", "--json"])).json()).toMatchObject({ jobs: [] });
    expect(await home.sandbox(["stop"])).toMatchObject({ exitCode: 0 });
  });

  test.each([["stop"], ["rm"], ["restore", "before", "--yes"]])(
    "%s is refused while a job runs, names the job and the next step, and reports with --force which jobs it ended",
    async (...words) => {
      if (words[0] === "restore") {
        await home.exec("true");
        expect((await home.sandbox(["snapshot", "--name", "before"])).exitCode).toBe(0);
      }
      const id = await startJob();
      const refused = await home.sandbox(words);
      expect(refused.exitCode).not.toBe(0);
      expect(refused.stderr).toContain(`${id} (${command})`);
      expect(refused.stderr).toMatch(/hermes sandbox jobs kill proc_.*--force/);
      await expect.poll(() => home.processes()).toContain("sleep 600");
      const isJson = words[0] === "rm";
      const forced = await home.sandbox([...words, "--force", ...(isJson ? ["--json"] : [])]);
      expect(forced.exitCode, forced.stderr).toBe(0);
      if (isJson) expect(forced.json()).toMatchObject({ ended_jobs: [id] });
      else expect(forced.stderr).toContain(`${id} (${command})`);
      if (words[0] !== "stop") return;
      // Listing the jobs of a stopped sandbox does not start it.
      expect((await home.sandbox(["jobs"])).stdout).toContain("No jobs are running.");
      const all = (await home.sandbox(["jobs", "--all", "--json"])).json<JobRow[]>();
      expect(all.find((job) => job.id === id)).toMatchObject({ state: "ended", reason: "lost" });
      expect((await home.sandbox(["status", "--json"])).json()).toMatchObject({ state: "exited" });
    },
    600_000,
  );
});

describeWith("ssh", "hermes sandbox jobs over ssh", ({ host, port, user, identityFile, knownHosts }) => {
  test("F46: a job that one process started is listed, read and killed by another", async () => {
    await using home = await tempHome();
    await mkdir(join(home.folder, ".ssh"), { recursive: true });
    await writeFile(join(home.folder, ".ssh", "config"), `UserKnownHostsFile ${knownHosts}\n`);
    const env = {
      TERMINAL_ENV: "ssh",
      TERMINAL_SSH_HOST: host,
      TERMINAL_SSH_PORT: String(port),
      TERMINAL_SSH_USER: user,
      TERMINAL_SSH_KEY: identityFile,
    };
    const sandbox = (...args: readonly string[]): Promise<HermesRun> =>
      home.hermes(["sandbox", ...args], { env });
    const started = await sandbox(
      "jobs",
      "start",
      "--",
      "echo first; while :; do echo more; sleep 0.1; done",
    );
    expect(started.stderr).toBe("");
    const id = started.stdout.trim();
    expect((await sandbox("jobs", "--json")).json()).toMatchObject([{ id, state: "running" }]);
    await vi.waitFor(
      async () => expect((await sandbox("jobs", "log", id)).stdout).toMatch(/^first\nmore\n/),
      soon,
    );
    expect((await sandbox("jobs", "kill", id)).exitCode).toBe(0);
    expect((await sandbox("jobs", "--json")).json()).toEqual([]);
    await sandbox("exec", "--", `rm -rf "\${TMPDIR:-/tmp}"/hermes-jobs-*/${id}`);
  });
});

/** The program in a terminal of 24 rows and 80 columns. */
function openTerminal(args: readonly string[], env: Record<string, string>) {
  const child = spawnInPty([process.execPath, ENTRY, ...args], { env, rows: 24, cols: 80 });
  let screen = "";
  child.onData((text: string) => {
    screen += text;
  });
  return {
    async exitCode() {
      await vi.waitFor(() => expect(screen).toMatch(/code=\d+/), soon);
      return Number(/code=(\d+)/.exec(screen)?.[1]);
    },
    screen: () => screen,
    type: (text: string) => child.write(text),
    resize: (rows: number, columns: number) => child.resize(columns, rows),
    shows: (text: string | RegExp) => vi.waitFor(() => expect(screen).toMatch(text), soon),
    kill: () => child.kill("SIGKILL"),
  };
}
