import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openChatHome } from "../support/chat-home.ts";

const ESC = "\u001b";
const SLEEPS = { text: "Wait.", tools: [{ name: "terminal", input: { command: "echo begun; sleep 600" } }] };

test.each([
  ["SIGTERM", 143],
  ["SIGHUP", 129],
  ["SIGINT", 130],
] as const)(
  "C41, C42: %s in the middle of a command leaves the terminal as before, records the turn as stopped and says how to resume",
  async (signal, code) => {
    await using home = await openChatHome([SLEEPS]);
    using chat = home.start();
    await chat.shows("/help");
    chat.type("go\r");
    await chat.shows(/1 terminal echo begun/);
    chat.kill(signal);
    await chat.shows(new RegExp(`resume with: hermes -r \\S+\\ncode=${code}\\nsame modes`));
    expect(chat.screen()).not.toContain("again"); // "Run the command again" would open another session
    const id = /hermes -r (\S+)/.exec(chat.screen())?.[1] ?? "";
    using again = home.start(["-r", id]);
    await again.shows("1 turn");
    await again.shows("❯ go");
    expect(again.screen()).not.toContain("cut off");
  },
);

test("C41: the command that resumes the session names the profile that was given", async () => {
  await using home = await openChatHome([{ text: "Hello." }]);
  using chat = home.start(["-p", "default"]);
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows("Hello.");
  chat.type("/quit\r");
  await chat.shows(/resume with: hermes -p default -r \S+\ncode=0/);
});

test("C41: a bug that ends the process leaves the terminal as before", async () => {
  await using home = await openChatHome([SLEEPS]);
  const bug = join(home.path, "bug.cjs");
  await writeFile(bug, 'process.on("SIGUSR2", () => { throw new Error("a bug"); });\n');
  using chat = home.start([], undefined, { NODE_OPTIONS: `--require ${bug}` });
  await chat.shows("/help");
  chat.type("a draft");
  await chat.shows(/❯ a draft\n[^\n]*asks$/);
  chat.kill("SIGUSR2");
  await chat.shows(/Error: a bug[\s\S]*code=1\nsame modes/);
  const bytes = chat.bytes();
  expect(bytes.lastIndexOf(`${ESC}[?2004l`)).toBeGreaterThan(bytes.lastIndexOf(`${ESC}[?2004h`));
  expect(bytes.lastIndexOf(`${ESC}[?25h`)).toBeGreaterThan(bytes.lastIndexOf(`${ESC}[?25l`));
});

test("C42: when the window is closed in the middle of a command, the process ends and the turn is recorded as stopped", async () => {
  await using home = await openChatHome([SLEEPS]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows(/1 terminal echo begun/);
  const pid = chat.pid();
  chat.hangUp();
  await expect.poll(() => isRunning(pid)).toBe(false);
  using again = home.start(["-c"]);
  await again.shows(/1 turn [\s\S]*❯ go/);
  await again.shows("asks");
  expect(again.screen()).not.toContain("cut off");
});

test("C22: Ctrl-C in a pager or an editor goes to that program, and the chat and its turn continue", async () => {
  await using home = await openChatHome([SLEEPS]);
  const waits = join(home.path, "waits");
  await writeFile(
    waits,
    `trap 'echo "$1 caught it"' INT; echo "$1 waits"; until read line </dev/tty; do :; done\n`,
  );
  const programs = { PAGER: `sh ${waits} pager`, EDITOR: `sh ${waits} editor` };
  using chat = home.start([], undefined, programs);
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows(/1 terminal echo begun/);
  for (const [keys, program] of [
    ["/history\r", "pager"],
    ["\x07", "editor"],
  ] as const) {
    chat.type(keys);
    await chat.shows(`${program} waits`);
    chat.type("\x03");
    await chat.shows(`${program} caught it`);
    chat.type("\r");
    await chat.shows("Enter qu");
  }
});

test("a pager that is not installed is named, and the chat continues", async () => {
  await using home = await openChatHome([{ text: "Hello." }], { PAGER: "no-such-pager" });
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows("Hello.");
  chat.type("/history\r");
  await chat.shows("✗ The pager `no-such-pager` cannot be started.");
});

test("C9: an idle chat writes no byte", async () => {
  await using home = await openChatHome([{ text: "Hello." }]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("hi\r");
  await chat.shows(/Hello\.[\s\S]*❯ *\n[^\n]*asks$/);
  const isQuiet = async (): Promise<boolean> => {
    const before = chat.bytes();
    await new Promise((resolve) => setTimeout(resolve, 1_500)); // proves that nothing happens
    return chat.bytes() === before;
  };
  await expect.poll(isQuiet, { timeout: 20_000 }).toBe(true);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
