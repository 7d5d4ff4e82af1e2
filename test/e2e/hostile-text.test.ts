import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ENTRY } from "../support/built-program.ts";
import { tempHome } from "../support/hermes.ts";
import { spawnInPty } from "../support/pty.ts";

const EVIL = "\u001b[2J\u001b]52;c;ZXZpbA==\u0007\u009b3J";
const PRINT_EVIL = "printf 'mark \\033[2J\\033]52;c;ZXZpbA==\\007\\n'";

const COLOUR = new RegExp(`${"\u001b"}\\[\\d+m`, "g");

test("escape sequences from models, commands, files and users are shown on a terminal, not executed", async () => {
  await using home = await tempHome();
  const script = join(home.folder, "script.json");
  const answers = [
    { tools: [{ name: "terminal", input: { command: PRINT_EVIL } }] },
    { text: `mark ${EVIL} done`, chunk: 1 },
  ];
  await writeFile(script, JSON.stringify({ answers }));
  const env = { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path, TERM: "xterm" };
  const onTerminal = async (...words: string[]): Promise<string> => {
    let shown = "";
    const terminal = spawnInPty([process.execPath, ENTRY, ...words], { env, cwd: home.folder });
    terminal.onData((text) => {
      shown += text;
    });
    await expect.poll(() => shown).toMatch(/code=\d+/);
    terminal.kill();
    return shown;
  };
  const model = ["-m", `scripted:${script}`];
  const board = (await home.hermes(["kanban", "create", "mark", "--body", `mark ${EVIL}`, "--json"])).json<{
    id: string;
  }>();
  const job = (await home.hermes(["sandbox", "jobs", "start", "--json", "--", PRINT_EVIL])).json<{
    id: string;
  }>();
  const surfaces = [
    ["chat", "-q", `mark ${EVIL}`, ...model],
    ["-z", `mark ${EVIL}`, ...model],
    ["sessions", "show", "latest"],
    ["sessions", "search", "mark"],
    ["sessions", "list", "--all"],
    ["sessions", "export", "latest"],
    ["kanban", "show", board.id],
    ["sandbox", "jobs", "log", job.id],
    ["-z", "go", "-m", `scripted:/mark ${EVIL}`],
    [`mark${EVIL}`],
  ];
  for (const words of surfaces) {
    const shown = await onTerminal(...words);
    expect(shown, words.join(" ")).toContain("mark");
    const left = shown.replaceAll(COLOUR, "").replace(/\r?\n|\t/g, "");
    expect(left, words.join(" ")).not.toMatch(/\p{Cc}/u);
  }

  await mkdir(home.path, { recursive: true });
  await writeFile(join(home.path, "config.yaml"), `"mark\\e[2J": 1\n`);
  expect(await onTerminal("config", "check")).toContain("mark�[2J");
});

test("a pipe gets every byte of an answer and of a job", async () => {
  await using home = await tempHome();
  const script = join(home.folder, "script.json");
  await writeFile(script, JSON.stringify({ answers: [{ text: EVIL }] }));
  const run = await home.hermes(["-z", "go", "-m", `scripted:${script}`]);
  expect(run.stdout).toBe(`${EVIL}\n`);
  expect((await home.hermes(["sandbox", "exec", "--", PRINT_EVIL])).stdout).toContain("\u001b[2J");
});

test("a character that arrives in two halves is shown whole, and no character is split", async () => {
  await using home = await tempHome();
  const script = join(home.folder, "script.json");
  const command = `: ${"😀".repeat(100)}`;
  const answers = [
    {
      tools: [
        { name: "terminal", input: { command } },
        { name: "terminal", input: { command: `:${command}` } },
      ],
    },
    { text: "A😀B\n😀", chunk: 1 },
  ];
  await writeFile(script, JSON.stringify({ answers }));
  const run = await home.hermes(["chat", "-q", "go", "-m", `scripted:${script}`]);
  expect(run.stdout).toContain("A😀B\n😀\n");
  expect(run.stderr).toContain("😀…");
  expect(run.stdout + run.stderr).not.toContain("\ufffd");
});

test("escape sequences in a paged log are not executed either", async () => {
  await using home = await tempHome();
  await home.hermes(["config", "set", "model.default", `mark${EVIL}`]);
  const { stdout } = await home.hermes(["logs"]);
  expect(stdout).toContain("mark�");
  expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
});
