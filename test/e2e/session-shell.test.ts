import { mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { openSandboxHome } from "../support/sandbox-home.ts";
import { startScriptedServer } from "../support/scripted-server.ts";
import { describeWith } from "../support/services.ts";

const terminal = (command: string) => ({ tools: [{ name: "terminal", input: { command } }] });
const LOOK = 'pwd; echo "colour=$COLOUR token=$API_TOKEN plain=$PLAIN pager=[$PAGER]"';

/** A script whose turns are chosen by the word in the message. */
async function writeScript(folder: string, turns: Readonly<Record<string, readonly object[]>>) {
  const path = join(folder, "script.json");
  const rows = Object.entries(turns).map(([when, answers]) => ({ when, answers }));
  await writeFile(path, JSON.stringify({ turns: rows }));
  return `scripted:${path}`;
}

/** The files of a folder that contain the text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(files.map(async (path) => ({ path, bytes: await readFile(path) })));
  return contents.filter(({ bytes }) => bytes.includes(text)).map(({ path }) => path);
}

/** A home, its project folder, and `hermes -z` in it. */
async function openProject(turns: Readonly<Record<string, readonly object[]>>) {
  const home = await tempHome();
  const project = join(await realpath(home.folder), "project");
  await mkdir(project, { recursive: true });
  const model = await writeScript(home.folder, turns);
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    home.start([...args, "-m", model], { cwd: project, env });
  return { home, project, start, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

test("a resumed session goes on in its folder with its exported variables, and no secret among them is stored", async () => {
  await using place = await openProject({
    work: [
      terminal("mkdir sub; cd sub; export COLOUR=blue; unset PAGER"),
      terminal(
        "export API_TOKEN=$(cat ../one) PLAIN=$(cat ../two) COOKIE=$(cat ../three) MYPIN=$(cat ../four)",
      ),
      terminal("export SENTRY_DSN=https://$(cat ../five)@localhost/1 BIG=$(printf '/a%.0s' $(seq 3000))"),
      { text: "done" },
    ],
    again: [terminal(LOOK), { text: "again" }],
  });
  const secrets = {
    one: "tell-nobody",
    two: "p9Xw31kQz7Lm42Tr8a",
    three: "chocolatechip",
    four: "7391-4482",
    five: "tokenasuser",
  };
  for (const [name, secret] of Object.entries(secrets)) await writeFile(join(place.project, name), secret);
  expect(await place.start(["-z", "work"]).ended).toMatchObject({ exitCode: 0, stderr: "" });
  const run = await place.start(["-c", "-z", "again", "--json"]).ended;
  expect(run.exitCode, run.stderr).toBe(0);
  expect(run.stdout).toContain(`${place.project}/sub\\ncolour=blue token= plain= pager=[]`);
  for (const told of [
    /These exported variables may hold secrets .*: API_TOKEN, COOKIE, MYPIN, PLAIN, SENTRY_DSN\./,
    /These exported variables are too long to keep, .*: BIG\./,
  ]) {
    expect(run.stderr).toMatch(told);
    expect(run.stdout).toMatch(told); // the model hears it too
  }
  for (const secret of Object.values(secrets)) expect(await filesWith(place.home.path, secret)).toEqual([]);
});

test("a resumed session whose folder is gone starts in the default folder, and says so", async () => {
  await using place = await openProject({
    work: [terminal("mkdir sub; cd sub; export COLOUR=blue"), { text: "done" }],
    again: [terminal(LOOK), { text: "again" }],
  });
  await place.start(["-z", "work"]).ended;
  await rm(join(place.project, "sub"), { recursive: true });
  const run = await place.start(["-c", "-z", "again", "--json"]).ended;
  expect(run.exitCode, run.stderr).toBe(0);
  expect(run.stdout).toContain(`\\n\\n${place.project}\\ncolour=blue`);
  const told = `The working folder of this session, ${place.project}/sub, is gone`;
  expect(run.stderr).toContain(told);
  expect(run.stdout).toContain(told);
});

test("a session that was killed in a command goes on where the command before it had left the shell", async () => {
  await using place = await openProject({
    work: [
      terminal("mkdir sub; cd sub; export COLOUR=blue"),
      terminal("cd /; export COLOUR=red; echo started > $OLDPWD/started; sleep 600"),
      { text: "done" },
    ],
    again: [terminal(LOOK), { text: "again" }],
  });
  const { child, ended } = place.start(["-z", "work"]);
  const started = () => readFile(join(place.project, "sub", "started"), "utf8").catch(() => "");
  await expect.poll(started, { timeout: 150_000 }).toBe("started\n");
  child.kill("SIGKILL");
  expect((await ended).exitCode).toBe(null);
  const run = await place.start(["-c", "-z", "again", "--json"]).ended;
  expect(run.exitCode, run.stderr).toBe(0);
  expect(run.stdout).toContain(`${place.project}/sub\\ncolour=blue`);
});

test("a session that is resumed in another environment does not take its folder and variables there", async () => {
  await using place = await openProject({
    work: [terminal("mkdir sub; cd sub; export COLOUR=blue"), { text: "done" }],
    again: [terminal(LOOK), { text: "again" }],
  });
  await place.start(["-z", "work"]).ended;
  const elsewhere = { TERMINAL_ENV: "ssh", TERMINAL_SSH_HOST: "127.0.0.1", TERMINAL_SSH_USER: "nobody" };
  const run = await place.start(["-c", "-z", "again"], { ...elsewhere, TERMINAL_SSH_PORT: "1" }).ended;
  expect(run.stderr).toContain("Earlier commands of this session ran elsewhere (local)");
});

/** Answers the first request never. */
const silent = () =>
  startScriptedServer(
    { answers: [{ text: "never" }] },
    { misbehave: () => ({ type: "hang", after: "nothing" }) },
  );

const asking = (url: string) => ({
  HERMES_MODEL_BASE_URL: `${url}/v1`,
  HERMES_MODEL_PROVIDER: "custom",
  HERMES_MODEL_DEFAULT: "scripted",
  OPENAI_API_KEY: "none-needed",
});

test("the shell is opened while the first answer is awaited, and ends with the program", async () => {
  await using server = await silent();
  await using home = await tempHome();
  await mkdir(home.path, { recursive: true });
  await writeFile(join(home.folder, "init.sh"), 'echo "$$" > "$HOME/shell"\n');
  await writeFile(join(home.path, "config.yaml"), "terminal:\n  shell_init_files: [~/init.sh]\n");
  const { child, ended } = home.start(["-z", "hello"], { env: asking(server.url), cwd: home.folder });
  const shell = () => readFile(join(home.folder, "shell"), "utf8").catch(() => "");
  await expect.poll(shell, { timeout: 150_000 }).toMatch(/^\d+\n$/);
  const pid = Number(await shell());
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ exitCode: 130 });
  const isAlive = () =>
    readFile(`/proc/${pid}/stat`, "utf8").then(
      () => true,
      () => false,
    );
  await expect.poll(isAlive, { timeout: 150_000 }).toBe(false);
});

describeWith("docker", "a session in a Docker sandbox", (service) => {
  test("goes on in its folder of the sandbox with its exported variables", async () => {
    await using home = await openSandboxHome(service);
    const model = await writeScript(home.folder, {
      work: [terminal("mkdir -p /workspace/sub; cd /workspace/sub; export COLOUR=blue"), { text: "done" }],
      again: [terminal(LOOK), { text: "again" }],
      gone: [terminal("rmdir /workspace/sub"), { text: "gone" }],
    });
    const hermes = (...words: string[]) => home.agent([...words, "-m", model, "--json"]).ended;
    await hermes("-z", "work");
    expect((await hermes("-c", "-z", "again")).stdout).toContain("/workspace/sub\\ncolour=blue");
    await hermes("-c", "-z", "gone");
    const run = await hermes("-c", "-z", "again");
    expect(run.stdout).toContain("\\n\\n/root\\ncolour=blue");
    expect(run.stderr).toContain("/workspace/sub, is gone");
  });

  test("opens its shell while the first answer is awaited if the sandbox runs, and makes none for that", async () => {
    await using server = await silent();
    await using home = await openSandboxHome(service, asking(server.url));
    const wait = async () => {
      const { child, ended } = home.agent(["-z", "hello"]);
      await expect.poll(() => server.requests.length, { timeout: 150_000 }).toBeGreaterThan(0);
      return {
        async [Symbol.asyncDispose]() {
          child.kill("SIGINT");
          expect(await ended).toMatchObject({
            exitCode: 130,
            stderr: expect.not.stringContaining("sandbox"),
          });
        },
      };
    };
    {
      await using _ = await wait();
    }
    expect(await home.containers()).toEqual([]);
    await home.exec("true");
    const channels = async () => (await home.processes()).split("hermes-channel").length - 1;
    expect(await channels()).toBe(0);
    {
      await using _ = await wait();
      await expect.poll(channels, { timeout: 150_000 }).toBeGreaterThan(0);
    }
    await expect.poll(channels, { timeout: 150_000 }).toBe(0);
  });
});
