import { execFileSync } from "node:child_process";
import { constants } from "node:fs";
import { copyFile, mkdir, open, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { opensChat } from "../../src/cli/chat/opens-chat.ts";
import { ENTRY, runInProcess } from "../support/built-program.ts";
import { openChatHome } from "../support/chat-home.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A copy of the built program in which another file replaces the code of the chat. */
async function copyProgram(replacePack: (path: string, pack: Buffer) => Promise<void> | void) {
  const folder = await tempFolder();
  const dist = dirname(ENTRY);
  await mkdir(folder.file("dist/chunks"), { recursive: true });
  await symlink(join(dist, "../node_modules"), folder.file("node_modules"));
  await copyFile(ENTRY, folder.file("dist/main.cjs"));
  const program = /program-\w+\.cjs/.exec(await readFile(ENTRY, "utf8"))?.[0] ?? "";
  for (const name of await readdir(join(dist, "chunks"))) {
    if (!name.includes(".chat.pack"))
      await symlink(join(dist, "chunks", name), folder.file(`dist/chunks/${name}`));
  }
  const pack = `${program}.chat.pack`;
  await replacePack(folder.file(`dist/chunks/${pack}`), await readFile(join(dist, "chunks", pack)));
  return {
    entry: folder.file("dist/main.cjs"),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** A copy of the program that pauses while it is loading until `load` is called. */
async function copyWaitingProgram() {
  let fifo = "";
  let code: Uint8Array = Buffer.alloc(0);
  const copy = await copyProgram((path, pack) => {
    execFileSync("mkfifo", [path]);
    fifo = path;
    code = pack;
  });
  return {
    entry: copy.entry,
    load: () => writeFile(fifo, code),
    async [Symbol.asyncDispose]() {
      // After a failed test, the program may still be waiting.
      const waiting = await open(fifo, constants.O_RDWR | constants.O_NONBLOCK);
      await waiting.close();
      await copy[Symbol.asyncDispose]();
    },
  };
}

test("C17: the first frame is shown before the program is loaded, and keys typed until then are handled in order", async () => {
  await using program = await copyWaitingProgram();
  await using home = await openChatHome([{ text: "One." }], {}, program.entry);
  using chat = home.start();
  await chat.shows(/^\n?❯ \nstarting$/);
  chat.type("one\u001b[D\u001b[Dx");
  chat.type("\u0005!\rtwo");
  await program.load();
  await chat.shows(/❯ oxne![\s\S]*One\.[\s\S]*\n❯ two\n/);
  expect(chat.screen()).not.toContain("starting");
  expect(chat.screen().match(/❯/g)).toHaveLength(2);
  chat.type("\u0003\u0003\u0003");
  await chat.shows(/code=0\nsame modes/);
});

test.each([
  ["SIGTERM", 143],
  ["SIGHUP", 129],
  ["SIGINT", 130],
] as const)(
  "C41: %s while the program is being loaded leaves the terminal as before",
  async (signal, code) => {
    await using program = await copyWaitingProgram();
    await using home = await openChatHome([], {}, program.entry);
    using chat = home.start();
    await chat.shows("starting");
    chat.kill(signal);
    await program.load();
    await chat.shows(new RegExp(`code=${code}\\nsame modes`));
    expect(chat.screen()).not.toContain("starting");
  },
);

test("C41: a program that cannot be loaded leaves the terminal as before", async () => {
  await using program = await copyProgram((path) => writeFile(path, "damaged ("));
  await using home = await openChatHome([], {}, program.entry);
  using chat = home.start();
  await chat.shows(/SyntaxError[\s\S]*code=1\nsame modes/);
  expect(chat.bytes()).toContain("starting");
  expect(chat.screen()).not.toContain("starting");
  expect(chat.bytes().lastIndexOf("\u001b[?2004l")).toBeGreaterThan(
    chat.bytes().lastIndexOf("\u001b[?2004h"),
  );
});

test("C41: when a profile does not exist, the first frame is removed and only the error is shown", async () => {
  await using home = await openChatHome([]);
  using chat = home.start(["-p", "nowhere"]);
  await chat.shows(/^\n?hermes: [^\n]*nowhere[\s\S]*code=1\nsame modes/);
});

test("the first frame is painted for command lines that open the chat, and for no other", async () => {
  for (const line of [
    "",
    "chat",
    "-c",
    "-c title",
    "-r 12 --yolo",
    "chat -m gpt -p work",
    "--continue --plan",
  ])
    expect(opensChat(line.split(" ").filter((word) => word !== "")), line).toBe(true);
  for (const line of [
    "kanban",
    "-z task",
    "-c -z task",
    "chat -q task",
    "--help",
    "-p work kanban",
    "-m",
    "- -c",
  ])
    expect(opensChat(line.split(" ")), line).toBe(false);
  await using folder = await tempFolder();
  const { stdout } = await runInProcess(["chat", "--help"], {
    HOME: folder.path,
    PATH: process.env["PATH"] ?? "",
  });
  for (const flag of [
    "-c, --continue",
    "-r, --resume",
    "-m, --model",
    "--provider",
    "--yolo",
    "--plan",
    "--no-context",
  ])
    expect(stdout).toContain(flag);
});
