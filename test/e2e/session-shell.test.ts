import { mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { openSandboxHome } from "../support/sandbox-home.ts";
import { startScriptedServer } from "../support/scripted-server.ts";
import { describeWith } from "../support/services.ts";

const terminal = (command: string) => ({ tools: [{ name: "terminal", input: { command } }] });
const PRINT_STATE = 'pwd; echo "colour=$COLOUR token=$API_TOKEN plain=$PLAIN pager=[$PAGER]"';

/** A script whose turns are selected by a word in the message. */
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

test("a resumed session continues in its folder with its exported variables; secrets among them are not stored", async () => {
  await using lab = await openProject({
    work: [
      terminal("mkdir sub; cd sub; export COLOUR=blue; unset PAGER"),
      terminal(
        "export API_TOKEN=$(cat ../one) PLAIN=$(cat ../two) COOKIE=$(cat ../three) MYPIN=$(cat ../four)",
      ),
      terminal("export SENTRY_DSN=https://$(cat ../five)@localhost/1 BIG=$(printf '/a%.0s' $(seq 3000))"),
      { text: "done" },
    ],
    again: [terminal(PRINT_STATE), { text: "again" }],
  });
  const secrets = {
    one: "tell-nobody",
    two: "p9Xw31kQz7Lm42Tr8a",
    three: "chocolatechip",
    four: "7391-4482",
    five: "tokenasuser",
  };
  for (const [name, secret] of Object.entries(secrets)) await writeFile(join(lab.project, name), secret);
  expect(await lab.start(["-z", "work"]).ended).toMatchObject({ exitCode: 0, stderr: "" });
  const run = await lab.start(["-c", "-z", "again", "--json"]).ended;
  expect(run.exitCode, run.stderr).toBe(0);
  expect(run.stdout).toContain(`${lab.project}/sub\\ncolour=blue token= plain= pager=[]`);
  for (const notice of [
    /These exported variables may hold secrets .*: API_TOKEN, COOKIE, MYPIN, PLAIN, SENTRY_DSN\./,
    /These exported variables are too long to store, .*: BIG\./,
  ]) {
    expect(run.stderr).toMatch(notice);
    expect(run.stdout).toMatch(notice); // the model is informed too
  }
  for (const secret of Object.values(secrets)) expect(await filesWith(lab.home.path, secret)).toEqual([]);
});

test("a resumed session whose folder no longer exists starts in the default folder, and says so", async () => {
  await using lab = await openProject({
    work: [terminal("mkdir sub; cd sub; export COLOUR=blue"), { text: "done" }],
    again: [terminal(PRINT_STATE), { text: "again" }],
  });
  await lab.start(["-z", "work"]).ended;
  await rm(join(lab.project, "sub"), { recursive: true });
  const run = await lab.start(["-c", "-z", "again", "--json"]).ended;
  expect(run.exitCode, run.stderr).toBe(0);
  expect(run.stdout).toContain(`\\n\\n${lab.project}\\ncolour=blue`);
  const notice = `The working folder of this session, ${lab.project}/sub, no longer exists`;
  expect(run.stderr).toContain(notice);
  expect(run.stdout).toContain(notice);
});

test("a session that was killed during a command continues with the shell state after the previous command", async () => {
  await using lab = await openProject({
    work: [
      terminal("mkdir sub; cd sub; export COLOUR=blue"),
      terminal("cd /; export COLOUR=red; echo started > $OLDPWD/started; sleep 600"),
      { text: "done" },
    ],
    again: [terminal(PRINT_STATE), { text: "again" }],
  });
  const { child, ended } = lab.start(["-z", "work"]);
  const started = () => readFile(join(lab.project, "sub", "started"), "utf8").catch(() => "");
  await expect.poll(started, { timeout: 150_000 }).toBe("started\n");
  child.kill("SIGKILL");
  expect((await ended).exitCode).toBe(null);
  const run = await lab.start(["-c", "-z", "again", "--json"]).ended;
  expect(run.exitCode, run.stderr).toBe(0);
  expect(run.stdout).toContain(`${lab.project}/sub\\ncolour=blue`);
});

test("a session that is resumed in another environment does not restore its folder and variables there", async () => {
  await using lab = await openProject({
    work: [terminal("mkdir sub; cd sub; export COLOUR=blue"), { text: "done" }],
    again: [terminal(PRINT_STATE), { text: "again" }],
  });
  await lab.start(["-z", "work"]).ended;
  const elsewhere = { TERMINAL_ENV: "ssh", TERMINAL_SSH_HOST: "127.0.0.1", TERMINAL_SSH_USER: "nobody" };
  const run = await lab.start(["-c", "-z", "again"], { ...elsewhere, TERMINAL_SSH_PORT: "1" }).ended;
  expect(run.stderr).toContain("Earlier commands of this session ran in another environment (local)");
});

/** A server that never answers the first request. */
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

test("the shell is opened while the first request is pending, and exits with the program", async () => {
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
  test("continues in its folder of the sandbox with its exported variables", async () => {
    await using home = await openSandboxHome(service);
    const model = await writeScript(home.folder, {
      work: [terminal("mkdir -p /workspace/sub; cd /workspace/sub; export COLOUR=blue"), { text: "done" }],
      again: [terminal(PRINT_STATE), { text: "again" }],
      gone: [terminal("rmdir /workspace/sub"), { text: "gone" }],
    });
    const hermes = (...words: string[]) => home.startHermes([...words, "-m", model, "--json"]).ended;
    await hermes("-z", "work");
    expect((await hermes("-c", "-z", "again")).stdout).toContain("/workspace/sub\\ncolour=blue");
    await hermes("-c", "-z", "gone");
    const run = await hermes("-c", "-z", "again");
    expect(run.stdout).toContain("\\n\\n/root\\ncolour=blue");
    expect(run.stderr).toContain("/workspace/sub, no longer exists");
  });

  test("opens its shell while the first request is pending if the sandbox runs, and does not create a sandbox for that", async () => {
    await using server = await silent();
    await using home = await openSandboxHome(service, asking(server.url));
    const wait = async () => {
      const { child, ended } = home.startHermes(["-z", "hello"]);
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
    // A command returns without waiting for its shell to exit.
    await expect.poll(channels, { timeout: 150_000 }).toBe(0);
    {
      await using _ = await wait();
      await expect.poll(channels, { timeout: 150_000 }).toBeGreaterThan(0);
    }
    await expect.poll(channels, { timeout: 150_000 }).toBe(0);
  });
});
