import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as pty from "@lydell/node-pty";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";

type Home = Awaited<ReturnType<typeof tempHome>>;

/** Longer than a silent input is waited for. */
const SLOW = "sleep 1.2";

/** Answers with `seen` when the text was piped in, and with `alone` when there was nothing but the task. */
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

test("all of what the command before it in a pipeline prints is part of the task, however slow it is", async () => {
  await using home = await tempHome();
  const model = await writeScript(home, "first\nlast\n");
  const slow = `(${SLOW}; echo first; ${SLOW}; echo last)`;
  expect(await shell(home, `${slow} | hermes -z look ${model}`)).toEqual({
    exitCode: 0,
    stdout: "seen\n",
    stderr: expect.not.stringContaining("nothing came"),
  });
  expect((await shell(home, `hermes -z look ${model} < <(${slow})`)).stdout).toBe("seen\n");
});

test("an input that whoever started it keeps open and silent is not waited for, and that is said", async () => {
  await using home = await tempHome();
  const model = await writeScript(home, "late\n");
  const socket = await home.start(["-z", "look", ...model.split(" ")], { stdin: "open" }).ended;
  // The shell itself holds the writing end of the named pipe.
  const fifo = await shell(home, `mkfifo "$HOME/pipe"; exec 7<>"$HOME/pipe"; hermes -z look ${model} <&7`);
  for (const run of [socket, fifo])
    expect(run).toMatchObject({
      exitCode: 0,
      stdout: "alone\n",
      stderr: expect.stringContaining("nothing came on standard input"),
    });
});

test("- waits for input that comes late, and -z without a pipe stays silent about it", async () => {
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

test("whatever waits for input ends on the first signal", async () => {
  await using home = await tempHome();
  const waiting = [
    ["-z", "look", "-"],
    ["chat", "--query-file", "-"],
    ["kanban", "import", "-"],
    ["kanban", "create", "a task", "--body-file", "-"],
    ["config", "set", "model.api_key"],
  ].map((words) => home.start(words, { stdin: "open" }));
  for (const { child } of waiting) child.stdin.write("begun ");
  for (const { child } of waiting)
    await expect.poll(() => readsInput(child.pid), { timeout: 60_000 }).toBe(true);
  for (const { child } of waiting) child.kill("SIGTERM");
  const ends = await Promise.all(waiting.map(({ ended }) => ended));
  expect(ends.map(({ exitCode }) => exitCode)).toEqual(waiting.map(() => 143));
});

/** Whether a process waits for its standard input: the kernel lists what it polls. */
async function readsInput(pid = 0): Promise<boolean> {
  const folder = `/proc/${pid}/fdinfo`;
  const infos = (await readdir(folder)).map((name) => readFile(join(folder, name), "utf8").catch(() => ""));
  return (await Promise.all(infos)).some((info) => /^tfd:\s+0 /m.test(info));
}

test("without a terminal it also says after two seconds what is being waited for, once", async () => {
  await using home = await tempHome();
  const model = (await writeScript(home, "late\n")).split(" ");
  const { child, ended } = home.start(["-z", "look", "-", ...model], { stdin: "open" });
  let said = "";
  child.stderr.on("data", (bytes: Buffer) => {
    said += bytes.toString();
  });
  await expect.poll(() => said, { timeout: 30_000 }).toContain("waiting for the end of standard input");
  child.stdin.write("la");
  await new Promise((resolve) => setTimeout(resolve, 2_500)); // in which nothing more is said
  child.stdin.end("te\n");
  expect(await ended).toMatchObject({ exitCode: 0, stdout: "seen\n" });
  expect(said.trimEnd().split("\n")).toHaveLength(1);
});

test("what makes a task impossible is told before its input has come", async () => {
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

test("on a terminal it says after two seconds what is being waited for", async () => {
  await using home = await tempHome();
  const line = `sleep 1000 | "${process.execPath}" dist/main.cjs -z look`;
  const terminal = pty.spawn("bash", ["-c", line], {
    env: { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path },
    cols: 200,
  });
  let shown = "";
  terminal.onData((text) => {
    shown += text;
  });
  const exit = new Promise((resolve) => terminal.onExit(resolve));
  await expect
    .poll(() => shown, { timeout: 30_000 })
    .toMatch(/waiting for the end of standard input of sleep \(process \d+\)/);
  terminal.write("\u0003");
  await exit;
  expect(shown).toContain("Interrupted.");
});
