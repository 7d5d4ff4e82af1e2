import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openChatHome } from "../support/chat-home.ts";

const ESC = "\u001b";
const COMMAND = {
  text: "Let me **look**.",
  tools: [{ name: "terminal", input: { command: "echo one; false" } }],
};

/** Every escape sequence except those that turn bracketed paste on and off. */
const MOVES = new RegExp(`${ESC}(?!\\[\\?2004[hl])`);

test.each([
  ["--screen-reader", ["--screen-reader"], {}],
  ["ACCESSIBLE", [], { ACCESSIBLE: "1" }],
  ["TERM=dumb", [], { TERM: "dumb" }],
  ["display.screen_reader", [], { HERMES_DISPLAY_SCREEN_READER: "true" }],
] as const)("the screen reader mode is turned on by %s and says so", async (reason, args, variables) => {
  await using home = await openChatHome([{ text: "Hello." }], variables);
  using chat = home.start(args);
  await chat.shows(`notice: screen reader mode is on, by ${reason}.`);
  chat.type("hi\r");
  await chat.shows("hermes: Hello.");
});

test("in the screen reader mode every line begins with a label, and nothing is redrawn", async () => {
  const table = "| file | lines |\n|---|---|\n| a.ts | **12** |";
  await using home = await openChatHome([COMMAND, { text: `Done.\n\n${table}\n\n\`\`\`sh\nls\n\`\`\`\n` }]);
  using chat = home.start(["--screen-reader"]);
  await chat.shows("notice: Hermes");
  chat.type("what is there?\r");
  await chat.shows("notice: your turn");
  expect(chat.screen()).toMatch(
    /you: what is there\?\nhermes: Let me look\.\ncall 1 terminal: echo one; false\noutput 1: one\nresult 1 \w+: exit 1, [^\n]+\nhermes: Done\.\nhermes: file: a\.ts, lines: 12\ncode: ls\nnotice: your turn/,
  );
  expect(chat.bytes()).not.toMatch(MOVES);
});

test("in the screen reader mode a very long line of output is cut, and /out shows all of it", async () => {
  const command = "head -c 5000 /dev/zero | tr '\\0' a; echo the end";
  await using home = await openChatHome(
    [{ text: "Look.", tools: [{ name: "terminal", input: { command } }] }, { text: "Done." }],
    { PAGER: "cat" },
  );
  using chat = home.start(["--screen-reader"]);
  await chat.shows("notice: Hermes");
  chat.type("go\r");
  await chat.shows(/output 1: a{299}…\nresult 1 ok/);
  chat.type("/out 1\r");
  await chat.shows(/a{5000}the end/);
});

test("C36, C39: in the screen reader mode a question is numbered lines, answered by a number or by Esc", async () => {
  await using home = await openChatHome([
    { text: "I clean up.", tools: [{ name: "terminal", input: { command: "rm -rf src; echo removed" } }] },
    { text: "Then not." },
  ]);
  using chat = home.start(["--screen-reader"]);
  await chat.shows("screen reader mode");
  chat.type("clean up\r");
  await chat.shows(
    /question: call 1 terminal wants to run[\s\S]*question: rm -rf src; echo removed\nquestion: 1 once\n/,
  );
  chat.type("then run the linter\r");
  await chat.shows("queued: then run the linter");
  chat.type(ESC);
  await chat.shows(/answer: denied[\s\S]*result 1 not-run/);
});

test("C30, C41: in the screen reader mode Esc stops the turn, and leaving restores the terminal", async () => {
  await using home = await openChatHome([
    { text: "Wait.", tools: [{ name: "terminal", input: { command: "echo begun; sleep 600" } }] },
  ]);
  using chat = home.start(["--screen-reader"]);
  await chat.shows("screen reader mode");
  chat.type("go\r");
  await chat.shows("call 1 terminal: echo begun; sleep 600");
  chat.type(ESC);
  await chat.shows("notice: Stopped.");
  chat.type("/quit\r");
  await chat.shows(/resume with: hermes -r \S+\ncode=0\nsame modes/);
});

test.each(["xterm-256color", "dumb"])(
  "C17: in the screen reader mode, a message typed while the program was loading is sent (TERM=%s)",
  async (term) => {
    await using home = await openChatHome([{ text: "Hello." }], { TERM: term, ACCESSIBLE: "1" });
    using chat = home.start();
    chat.type("hi\r");
    await chat.shows("hermes: Hello.");
  },
);

test("C41: in the screen reader mode a bug that ends the process leaves the terminal as before", async () => {
  await using home = await openChatHome([{ text: "Hello." }]);
  const bug = join(home.path, "bug.cjs");
  await writeFile(bug, 'process.on("SIGUSR2", () => { throw new Error("a bug"); });\n');
  using chat = home.start(["--screen-reader"], undefined, { NODE_OPTIONS: `--require ${bug}` });
  await chat.shows("notice: Hermes");
  chat.kill("SIGUSR2");
  await chat.shows(/Error: a bug[\s\S]*code=1\nsame modes/);
});

test("in the screen reader mode a line can be corrected, and a notice counts the messages that a stop left unsent", async () => {
  await using home = await openChatHome([
    { text: "Wait.", tools: [{ name: "terminal", input: { command: "echo begun; sleep 600" } }] },
    { text: "Never sent: the stop is recorded as this answer." },
    { text: "Understood." },
  ]);
  using chat = home.start(["--screen-reader"]);
  await chat.shows("notice: Hermes");
  chat.type("wrong words\u0017\u0017");
  chat.type("also 漢字\u007f\u0015go\r");
  await chat.shows(/you: go\s/);
  await chat.shows("call 1 terminal");
  chat.type("next\r");
  await chat.shows("queued: next");
  chat.type(ESC);
  await chat.shows("notice: 1 queued message was not sent; Enter on the empty line sends the oldest");
  chat.type("\r");
  await chat.shows("hermes: Understood.");
});

test("C40: in the screen reader mode escape sequences of the model and of commands are shown and have no effect", async () => {
  await using home = await openChatHome([
    {
      text: `Answer ${ESC}[2J`,
      tools: [{ name: "terminal", input: { command: "printf 'out \\033[2J\\n'" } }],
    },
    { text: "Safe." },
  ]);
  using chat = home.start(["--screen-reader"]);
  await chat.shows("screen reader mode");
  chat.type("go\r");
  await chat.shows("hermes: Safe.");
  expect(chat.bytes()).not.toMatch(MOVES);
});
