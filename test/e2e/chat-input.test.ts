import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openChatHome } from "../support/chat-home.ts";

const ESC = "\u001b";
const CTRL_R = "\u0012";
const CTRL_S = "\u0013";
const CTRL_P = "\u0010";
const ANSWERS = ["One.", "Two.", "Three."].map((text) => ({ text }));

test("keys from the settings work, and /keys shows them", async () => {
  await using home = await openChatHome(ANSWERS);
  await writeFile(join(home.path, "config.yaml"), "display: { keys: { palette: f2, stash: none } }\n");
  using chat = home.start();
  await chat.shows("/help");
  chat.type("/keys\r");
  await chat.shows(/F2 +palette/);
  await chat.shows(/none +stash/);
  chat.type(`${ESC}OQ`);
  await chat.shows("palette: ");
  chat.type("yolo\r");
  await chat.shows("YOLO");
});

test("C20: several lines that arrive at once stay in the draft, even if they are not marked as a paste", async () => {
  await using home = await openChatHome(ANSWERS);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("first line\rsecond line\rlast\r");
  await chat.shows(/❯ first line\n {2}second line\n {2}last\n/);
  chat.type("\r");
  await chat.shows("One.");
  expect(chat.screen()).not.toContain("Two.");
});

test("a warning about the settings is a line of the chat and leaves the input line as it is", async () => {
  await using home = await openChatHome(ANSWERS);
  await writeFile(join(home.path, "config.yaml"), "terminal: { persistent_shell: true }\n");
  using chat = home.start();
  await chat.shows(/^\n?\? these settings are not implemented[\s\S]*\nHermes [^\n]*\/help\n[\s\S]*asks$/);
  expect(chat.screen().match(/❯/g)).toHaveLength(1);
});

test("`display.status` selects the fields of the status line, and `display.wrap: terminal` leaves wrapping to the terminal", async () => {
  const text = `${"word ".repeat(30)}end`;
  await using home = await openChatHome([{ text }]);
  await writeFile(join(home.path, "config.yaml"), "display: { status: [mode, cost], wrap: terminal }\n");
  using chat = home.start();
  await chat.shows(/\nasks · \$0\.00$/);
  chat.type("go\r");
  await chat.shows(text);
});

test("C21: Ctrl+R finds a message that an earlier chat in the folder has sent", async () => {
  await using home = await openChatHome(ANSWERS);
  {
    using chat = home.start();
    await chat.shows("/help");
    chat.type("remember the milk\r");
    await chat.shows("One.");
    await expect
      .poll(() => readFile(join(home.path, "history.jsonl"), "utf8").catch(() => ""))
      .toContain("milk");
    chat.kill();
    await chat.shows("code=137");
  }
  expect((await stat(join(home.path, "history.jsonl"))).mode & 0o777).toBe(0o600);
  using again = home.start();
  await again.shows("/help");
  again.type("a draft");
  await again.shows("❯ a draft");
  again.type(CTRL_R);
  await again.shows("history: ");
  again.type("milk");
  await again.shows(/❯ remember the milk/);
  again.type("\r");
  await again.shows(/\n❯ remember the milk\n/);
});

test("C43: the session picker finds a session by its messages, renames it and opens it", async () => {
  await using home = await openChatHome(ANSWERS);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("where is the login test?\r");
  await chat.shows("One.");
  chat.type("/new\r");
  await expect.poll(() => chat.screen().match(/Hermes /g)?.length).toBe(2);
  chat.type("/sessions login\r");
  await chat.shows(/sessions: login/);
  await chat.shows(/❯ .*here .*login test/);
  chat.type(CTRL_R);
  await chat.shows("new title: ");
  chat.type("\u0015my title\r");
  await chat.shows('The session is now called "my title"');
  chat.type("/resume my title\r");
  await chat.shows(/1 turn · just now/);
});

test("the palette finds commands, and closing it brings the draft back", async () => {
  await using home = await openChatHome(ANSWERS);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("half a thought");
  await chat.shows("❯ half a thought");
  chat.type(CTRL_P);
  await chat.shows("palette: ");
  chat.type("tree");
  await chat.shows(/❯ \/tree/);
  chat.type(ESC);
  await chat.shows(/❯ half a thought\n/);
  chat.type(CTRL_S);
  await chat.shows("aside: half a thought · Ctrl+S brings it back");
});
