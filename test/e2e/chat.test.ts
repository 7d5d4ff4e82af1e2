import { spawnSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { ENTRY } from "../support/built-program.ts";
import { openChatHome } from "../support/chat-home.ts";

const ESC = "\u001b";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

test("a message is answered, a command is run and shown, and the session can be resumed", async () => {
  await using home = await openChatHome([
    { text: "Let me **look**.", tools: [{ name: "terminal", input: { command: "echo one; echo two" } }] },
    { text: "There are two lines." },
    { text: "I remember." },
  ]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("what is there?\r");
  await chat.shows("There are two lines.");
  expect(chat.screen()).toMatch(
    /❯ what is there\?\n\nLet me look\.\n\n→ 1 terminal echo one; echo two\n {4}one\n {4}two\n {2}✓ \d+ ms\n\nThere are two lines\./,
  );
  chat.type(`${CTRL_D}${CTRL_D}`);
  await chat.shows(/resume with: hermes -r \S+\ncode=0\nsame modes/);
  const id = /hermes -r (\S+)/.exec(chat.screen())?.[1] ?? "";
  using again = home.start(["-r", id]);
  await again.shows(/1 turn · just now/);
  expect(again.screen()).toContain("❯ what is there?\n  There are two lines.");
  again.type("and now?\r");
  await again.shows("I remember.");
});

test("C36: a call that needs approval waits for a number; other text stays a message", async () => {
  await using home = await openChatHome([
    { text: "I clean up.", tools: [{ name: "terminal", input: { command: "rm -rf src; echo removed" } }] },
    { text: "Then not." },
    { text: "The linter is fine." },
  ]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("clean up\r");
  await chat.shows(/\? 1 terminal [\s\S]*\n {4}rm -rf src; echo removed\n/);
  chat.type("then run the linter\r");
  await chat.shows("queued 1: then run the linter");
  chat.type("4\r");
  await chat.shows(/again to answer|denied/);
  if (!chat.screen().includes("denied")) chat.type("4\r");
  await chat.shows("The linter is fine.");
  expect(chat.screen()).toMatch(/✗ not run/);
});

test("C30: Esc stops the command and the turn, and the next message is answered", async () => {
  await using home = await openChatHome([
    { text: "Wait.", tools: [{ name: "terminal", input: { command: "echo begun; sleep 600" } }] },
    { text: "Never sent: the stop is recorded as this answer." },
    { text: "Here I am." },
  ]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows(/1 terminal echo begun; sleep 600/);
  chat.type(ESC);
  await chat.shows("? Stopped.");
  chat.type("still there?\r");
  await chat.shows("Here I am.");
});

test("C29: with display.busy_input_mode interrupt, a message ends the turn, and its command continues until the chat ends", async () => {
  const count = "ps ax -o args | grep -c '^[s]leep 600.29'";
  await using home = await openChatHome(
    [
      { text: "Wait.", tools: [{ name: "terminal", input: { command: "sleep 600.29" } }] },
      { text: "Never sent: the stop is recorded as this answer." },
      { text: "I look.", tools: [{ name: "terminal", input: { command: `echo "runs: $(${count})"` } }] },
      { text: "It goes on." },
    ],
    { HERMES_DISPLAY_BUSY_INPUT_MODE: "interrupt" },
  );
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows(/1 terminal sleep 600\.29/);
  chat.type("another way\r");
  await chat.shows("It goes on.");
  expect(chat.screen()).toContain("runs: 1");
  chat.type(`${CTRL_D}${CTRL_D}`);
  await chat.shows("code=0");
  await expect.poll(() => spawnSync("sh", ["-c", count]).stdout.toString()).toBe("0\n");
});

test("C29: a steer that goes back to the queue at a stop is sent once, and not again with a later call", async () => {
  await using home = await openChatHome([
    { text: "Wait.", tools: [{ name: "terminal", input: { command: "echo begun; sleep 600" } }] },
    { text: "Never sent: the stop is recorded as this answer." },
    { text: "I look.", tools: [{ name: "terminal", input: { command: "echo looked" } }] },
    { text: "Understood." },
  ]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows(/1 terminal echo begun/);
  chat.type("use vitest\r");
  await chat.shows("queued 1: use vitest");
  chat.type("\r");
  await chat.shows("steer, seen after this call: use vitest");
  chat.type(ESC);
  await chat.shows("queued 1: use vitest");
  chat.type("\r");
  await chat.shows("Understood.");
  expect(chat.screen()).toContain("❯ use vitest");
  expect(chat.screen()).not.toContain("(steer)");
});

test("C43: after kill -9 in the middle of a command, the recap names it, and Enter lets the agent check and continue", async () => {
  await using home = await openChatHome([
    { text: "Working.", tools: [{ name: "terminal", input: { command: "echo begun; sleep 600" } }] },
    { text: "I looked, and went on." },
    { text: "And that." },
  ]);
  {
    using chat = home.start();
    await chat.shows("/help");
    chat.type("go\r");
    await chat.shows(/1 terminal echo begun/);
    chat.kill();
    await chat.shows("code=137");
  }
  using again = home.start(["-c"]);
  await again.shows(/1 turn · just now/);
  await again.shows(/cut off in call 1, terminal echo begun; sleep 600;\s+end\s+unknown/);
  again.type("\r");
  await again.shows("I looked, and went on.");
  again.type("more\r");
  await again.shows("And that.");
});

test("C18: a paste of 2,000 lines with control characters is one fold and arrives without them", async () => {
  await using home = await openChatHome([{ text: "Long." }], { PAGER: "cat" });
  using chat = home.start();
  await chat.shows("/help");
  const lines = Array.from(
    { length: 2_000 },
    (_, index) => `line ${index}${index === 7 ? "\u0003\u001b[2J" : ""}`,
  );
  chat.type(`${ESC}[200~${lines.join("\n")}${ESC}[201~`);
  await chat.shows(/\[paste #1 \+2000 lines\]/);
  chat.type("\r");
  await chat.shows("Long.");
  expect(chat.screen()).toContain("1991 more lines");
  chat.type("/history\r");
  await chat.shows("line 1999");
  expect(chat.screen()).toContain("line 7[2J");
});

test("C40: escape sequences in answers, output and errors are shown and have no effect", async () => {
  const evil = `${ESC}[2J${ESC}]0;title\u0007`;
  await using home = await openChatHome([
    { text: `Answer ${evil}`, tools: [{ name: "terminal", input: { command: "printf 'out \\033[2J\\n'" } }] },
    { text: "Safe." },
  ]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows("Safe.");
  for (const code of ["[2J", "]0;title", "[3J", "[?1049h", "[?1000h"])
    expect(chat.bytes()).not.toContain(ESC + code);
});

test("C41: after two Ctrl-C the terminal is as before and the session can be resumed", async () => {
  await using home = await openChatHome([{ text: "Hello." }]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("hi\r");
  await chat.shows("Hello.");
  chat.type(`\r${CTRL_C}${CTRL_C}`);
  await chat.shows(/resume with: hermes -r \S+\ncode=0\nsame modes/);
  expect(chat.bytes()).toContain(`${ESC}[?2004l`);
});

test("slash commands work without the model, and an unknown one suggests another", async () => {
  await using home = await openChatHome([{ text: "Never asked." }]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("/help model\r");
  await chat.shows("choose the model of this session");
  chat.type("/modle x\r");
  await chat.shows("Did you mean /model?");
  chat.type("/yolo\r");
  await chat.shows("YOLO");
  expect(chat.screen()).not.toContain("Never asked.");
});

test("the chat can explain a call, branch the session and undo a turn", async () => {
  await using home = await openChatHome([
    { text: "First.", tools: [{ name: "terminal", input: { command: "echo one" } }] },
    { text: "Done." },
    { text: "Once more." },
  ]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows("Done.");
  chat.type("/why 1\r");
  await chat.shows("No rule asks about it");
  chat.type("/branch\r");
  await chat.shows(/It shares messages 1 to 4 of 4/);
  await chat.shows(/1 turn · just now/);
  chat.type("/undo\r");
  await chat.shows("Undid the last turn");
});

test("/why explains a call that still waits for an answer, with and without its number", async () => {
  await using home = await openChatHome([
    { text: "I clean up.", tools: [{ name: "terminal", input: { command: "rm -rf src" } }] },
  ]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows("5 no, because");
  chat.type("/why 1\r");
  await chat.shows(/Call 1 has not been run; it waits for your answer. [\s\S]*rm -rf/);
  chat.type("/why\r");
  await chat.shows(/(Call 1 has not been run[\s\S]*){2}/);
});

test("the hint of a failed answer names a slash command", async () => {
  await using home = await openChatHome([{ text: "Half", finish: "content-filter" }]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows("in a chat /model");
});

test("C46: without a terminal no chat opens, nothing is written, and one line names the ways to give a task", async () => {
  await using home = await openChatHome([]);
  const before = await readdir(home.path);
  for (const args of [[], ["chat"], ["-c"], ["--yolo"]]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [ENTRY, ...args], {
      env: { HOME: home.path, HERMES_HOME: home.path, PATH: process.env["PATH"] },
      input: "",
      encoding: "utf8",
    });
    expect({ args, status, stdout }).toEqual({ args, status: 2, stdout: "" });
    expect(stderr).toMatch(/^[^\n]*-z [^\n]*-q [^\n]*--query-file[^\n]*\n$/);
  }
  expect(await readdir(home.path)).toEqual(before);
});
