import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { spawnInPty } from "../support/pty.ts";

type Home = Awaited<ReturnType<typeof tempHome>>;

/** Longer than the wait for a silent input. */
const SLOW = "sleep 1.2";

/** Answers with `seen` if the text was piped in, and with `alone` if there was only the task. */
async function writeScript(home: Home, piped: string): Promise<string> {
  const path = join(home.folder, "script.json");
  const turns = [
    { when: `<input>\n${piped}`, answers: [{ text: "seen" }] },
    { when: "look", answers: [{ text: "alone" }] },
  ];
  await writeFile(path, JSON.stringify({ turns }));
  return `-m scripted:${path}`;
}

/** Runs a line of shell in which `hermes` is the built program. */
async function shell(home: Home, line: string) {
  const program = `hermes() { "${process.execPath}" "${process.cwd()}/dist/main.cjs" "$@"; }`;
  const child = spawn("bash", ["-c", `${program}; ${line}`], {
    env: { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  const [exitCode] = (await once(child, "close")) as [number];
  return { exitCode, ...output };
}

test("the whole output of the previous command in a pipeline is part of the task, however slow it is", async () => {
  await using home = await tempHome();
  const model = await writeScript(home, "first\nlast\n");
  const slow = `(${SLOW}; echo first; ${SLOW}; echo last)`;
  expect(await shell(home, `${slow} | hermes -z look ${model}`)).toEqual({
    exitCode: 0,
    stdout: "seen\n",
    stderr: expect.not.stringContaining("nothing arrived"),
  });
  expect((await shell(home, `hermes -z look ${model} < <(${slow})`)).stdout).toBe("seen\n");
});

test("a silent input that only the parent process keeps open is not waited for, with a notice", async () => {
  await using home = await tempHome();
  const model = await writeScript(home, "late\n");
  const socket = await home.start(["-z", "look", ...model.split(" ")], { stdin: "open" }).ended;
  // The shell itself holds the write end of the named pipe.
  const fifo = await shell(home, `mkfifo "$HOME/pipe"; exec 7<>"$HOME/pipe"; hermes -z look ${model} <&7`);
  for (const run of [socket, fifo])
    expect(run).toMatchObject({
      exitCode: 0,
      stdout: "alone\n",
      stderr: expect.stringContaining("nothing arrived on standard input"),
    });
});

test("- waits for late input, and -z without a pipe prints no notice about it", async () => {
  await using home = await tempHome();
  const model = (await writeScript(home, "late\n")).split(" ");
  const { child, ended } = home.start(["-z", "look", "-", ...model], { stdin: "open" });
  setTimeout(() => child.stdin.end("late\n"), 1_500);
  expect(await ended).toMatchObject({ exitCode: 0, stdout: "seen\n", stderr: "" });
  expect(await shell(home, `hermes -z look ${model.join(" ")} </dev/null`)).toMatchObject({
    stdout: "alone\n",
    stderr: "",
  });
});

test("a task that is only - is the piped input itself", async () => {
  await using home = await tempHome();
  const model = await writeScript(home, "look");
  expect(await shell(home, `echo look | hermes -z - ${model}`)).toMatchObject({ stdout: "alone\n" });
});

test("a command that waits for input ends on the first signal", async () => {
  await using home = await tempHome();
  const waiting = [
    ["-z", "look", "-"],
    ["chat", "--query-file", "-"],
    ["kanban", "import", "-"],
    ["kanban", "create", "a task", "--body-file", "-"],
    ["config", "set", "model.api_key"],
  ].map((words) => home.start(words, { stdin: "open" }));
  for (const { child } of waiting) child.stdin.write("started ");
  for (const { child } of waiting)
    await expect.poll(() => readsInput(child.pid), { timeout: 60_000 }).toBe(true);
  for (const { child } of waiting) child.kill("SIGTERM");
  const ends = await Promise.all(waiting.map(({ ended }) => ended));
  expect(ends.map(({ exitCode }) => exitCode)).toEqual(waiting.map(() => 143));
});

/** Whether a process waits for its standard input: the kernel lists the descriptors that it polls. */
async function readsInput(pid = 0): Promise<boolean> {
  const folder = `/proc/${pid}/fdinfo`;
  const infos = (await readdir(folder)).map((name) => readFile(join(folder, name), "utf8").catch(() => ""));
  return (await Promise.all(infos)).some((info) => /^tfd:\s+0 /m.test(info));
}

test("without a terminal, one notice after two seconds says what is being waited for", async () => {
  await using home = await tempHome();
  const model = (await writeScript(home, "late\n")).split(" ");
  const { child, ended } = home.start(["-z", "look", "-", ...model], { stdin: "open" });
  let said = "";
  child.stderr.on("data", (bytes: Buffer) => {
    said += bytes.toString();
  });
  await expect.poll(() => said, { timeout: 30_000 }).toContain("waiting for the end of standard input");
  child.stdin.write("la");
  await new Promise((resolve) => setTimeout(resolve, 2_500)); // no further notice may appear in this time
  child.stdin.end("te\n");
  expect(await ended).toMatchObject({ exitCode: 0, stdout: "seen\n" });
  expect(said.trimEnd().split("\n")).toHaveLength(1);
});

test("a problem that makes a task impossible is reported before its input has arrived", async () => {
  await using home = await tempHome();
  const model = await writeScript(home, "late\n");
  for (const [flag, path, reason] of [
    ["-o", "/nonexistent/dir/x", "its folder does not exist"],
    ["--usage-file", "/", "it is not a regular file"],
  ]) {
    const { child, ended } = home.start(["-z", "look", "-", ...model.split(" "), flag ?? "", path ?? ""], {
      stdin: "open",
    });
    expect(await ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`${path}: ${reason}`) });
    child.stdin.destroy();
  }
});

test("on a terminal, a notice after two seconds says what is being waited for", async () => {
  await using home = await tempHome();
  const line = `sleep 1000 | "${process.execPath}" dist/main.cjs -z look`;
  const terminal = spawnInPty(["bash", "-c", line], {
    env: { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path },
  });
  let shown = "";
  terminal.onData((text) => {
    shown += text;
  });
  await expect
    .poll(() => shown, { timeout: 30_000 })
    .toMatch(/waiting for the end of standard input of sleep \(process \d+\)/);
  terminal.write("\u0003");
  await expect.poll(() => shown).toMatch(/code=\d+/);
  terminal.kill();
  expect(shown).toContain("Interrupted.");
});

test("agent K6: secrets in piped input are masked, with a notice; the task itself stays unchanged", async () => {
  await using home = await tempHome();
  const model = await writeScript(home, "DB_PASSWORD=«redacted:secret-value»\n");
  const piped = await shell(home, `echo DB_PASSWORD=hunter2hunter2 | hermes -z look ${model}`);
  expect(piped).toMatchObject({ exitCode: 0, stdout: "seen\n" });
  expect(piped.stderr).toContain("1 value in the piped input looks like a secret and was masked");
  const shown = await shell(home, "hermes sessions export latest");
  expect(shown.stdout).not.toContain("hunter2");
  await shell(home, `hermes -z 'look at DB_PASSWORD=hunter2hunter2' ${model} </dev/null`);
  expect((await shell(home, "hermes sessions export latest")).stdout).toContain("hunter2hunter2");
});

test("piped text in Latin-1 is read as read_file reads it", async () => {
  await using home = await tempHome();
  const model = await writeScript(home, "Grüße aus Köln\n");
  expect(await shell(home, `printf 'Gr\\374\\337e aus K\\366ln\\n' | hermes -z look ${model}`)).toMatchObject(
    {
      stdout: "seen\n",
    },
  );
});
