import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openChatHome } from "../support/chat-home.ts";

const ESC = "\u001b";
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("C47: !command runs in the environment, has a number for /out, needs approval like a call, and is hidden from the model", async () => {
  await using home = await openChatHome([{ text: "One." }, { text: "Two." }], { PAGER: "cat" });
  using chat = home.start();
  await chat.shows("/help");
  chat.type("!rm -rf build\r");
  await chat.shows(/✗ Not run: [\s\S]*once the session has a\s+message/);
  chat.type("hi\r");
  await chat.shows("One.");
  chat.type("!echo from the shell\r");
  await chat.shows(/→ 1 terminal echo from the shell\n {4}from the shell\n {2}✓/);
  chat.type("!rm -rf build\r");
  await chat.shows(/\? 2 terminal [\s\S]*\n {4}rm -rf build/);
  chat.type(ESC);
  await chat.shows(/✗ not run/);
  chat.type("!sleep 600\r");
  await chat.shows(/3 terminal sleep 600/);
  chat.type(ESC);
  await chat.shows("Stopped.");
  chat.type("/out 1\r");
  await chat.shows(/terminal echo from the shell\n\nfrom the shell/);
  chat.type("and now\r");
  await chat.shows("Two.");
  chat.type("/history\r");
  const transcript = (): string => chat.screen().slice(chat.screen().indexOf("Two."));
  await expect.poll(transcript).toContain("and now");
  expect(transcript()).not.toContain("from the shell");
});

test("/jobs lists the jobs, prints the output of one by its id and ends it, as its help says", async () => {
  const input = { command: "echo from the job; sleep 600", background: true };
  await using home = await openChatHome([
    { text: "Start.", tools: [{ name: "terminal", input }] },
    { text: "Started." },
  ]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("go\r");
  await chat.shows("Started.");
  chat.type("/help jobs\r");
  await chat.shows("/jobs [ID|kill ID|--all]");
  chat.type("/jobs\r");
  await chat.shows(/proc_\w+ +running/);
  const id = /proc_\w+(?= +running)/.exec(chat.screen())?.[0] ?? "";
  chat.type(`/jobs ${id}\r`);
  await chat.shows(new RegExp(`❯ /jobs ${id}\nfrom the job`));
  chat.type(`/jobs kill ${id}\r`);
  await chat.shows(/Killed|killed/);
});

test("the status line counts the running jobs, in a resumed session too, and an idle chat reports the end of a job", async () => {
  const input = { command: "until [ -e go ]; do sleep 0.1; done; exit 3", background: true };
  await using home = await openChatHome([
    { text: "Start.", tools: [{ name: "terminal", input }] },
    { text: "Started." },
  ]);
  {
    using first = home.start();
    await first.shows("/help");
    first.type("go\r");
    await first.shows(/Started\.[\s\S]* · asks · 1 job$/);
    first.type("/quit\r");
    await first.shows("code=0");
  }
  using chat = home.start(["-c"]);
  await chat.shows(/ · asks · 1 job$/);
  await writeFile(join(home.path, "go"), "");
  await chat.shows(/\n\? job ended: until \[ -e go \];.* · exit 3 after .* ·\s+\/jobs proc_\w+\n/);
  await chat.shows(/ · asks$/);
});

test("/queue says that there is nothing to clear or to take back", async () => {
  await using home = await openChatHome([{ text: "Never asked." }]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("/queue 3\r");
  await chat.shows("✗ There is no queued message 3.");
  chat.type("/queue clear\r");
  await chat.shows("Nothing is queued.");
});

test("C14: /raw prints the source of an answer, and /verbose changes what is shown of calls", async () => {
  await using home = await openChatHome([
    { text: "Some **bold** words." },
    { text: "Running.", tools: [{ name: "terminal", input: { command: "echo shown" } }] },
    { text: "Done." },
  ]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("/raw on\r");
  await chat.shows("Answers are printed as they are written.");
  chat.type("hi\r");
  await chat.shows("Some **bold** words.");
  chat.type("/verbose off\r");
  await chat.shows("Calls are shown with: off");
  chat.type("go\r");
  await chat.shows(/→ 1 terminal echo shown ✓ \d+ ms\n\nDone\./);
});

test("C26: a path that is pasted becomes an image of the message", async () => {
  await using home = await openChatHome([{ text: "A pixel." }]);
  await writeFile(join(home.path, "shot.png"), Buffer.from(PNG, "base64"));
  using chat = home.start();
  await chat.shows("/help");
  chat.type("what is ");
  chat.type(`${ESC}[200~${join(home.path, "shot.png")}${ESC}[201~`);
  await chat.shows(/❯ what is \[image 1: shot\.png \d+ B\]/);
  chat.type("\r");
  await chat.shows("A pixel.");
});

test("C43: a resumed session continues its call numbers; its last answer can be copied and its last message sent again", async () => {
  const usage = { input: 40_000, output: 0 };
  await using home = await openChatHome([
    { text: "Look.", tools: [{ name: "terminal", input: { command: "echo one" } }], usage },
    { text: "One.\n\n```sh\nls -l\n```", usage },
    { text: "Look again.", tools: [{ name: "terminal", input: { command: "echo two" } }], usage },
    { text: "Two.", usage },
  ]);
  {
    using first = home.start();
    await first.shows("/help");
    first.type("how many?\r");
    await first.shows("ls -l");
    first.type("/quit\r");
    await first.shows("code=0");
  }
  using chat = home.start(["-c"]);
  await chat.shows("40k/100k 40 %");
  chat.type("/copy code\r");
  await chat.shows(/There is no clipboard here|Copied/);
  chat.type("and now?\r");
  await chat.shows(/→ 2 terminal echo two[\s\S]*Two\./);
  chat.type("/quit\r");
  await chat.shows("code=0");
  using again = home.start(["-c"]);
  await again.shows("2 turns");
  again.type("/retry\r");
  await again.shows(/The last turn is undone[\s\S]*❯ and now\?\n\nLook again\.\n\n→ 3 terminal echo two/);
});

test("/new, /model and /reasoning keep what was chosen for the chat and the session", async () => {
  await using home = await openChatHome([{ text: "Hello." }, { text: "Again." }]);
  await writeFile(join(home.path, "other.json"), JSON.stringify({ answers: [{ text: "The other one." }] }));
  using chat = home.start(["--reasoning", "low"]);
  await chat.shows("/help");
  chat.type("hi\r");
  await chat.shows("Hello.");
  chat.type("/new\r");
  await expect.poll(() => chat.screen().split("Hermes 0.").length).toBe(3);
  chat.type("/reasoning\r");
  await chat.shows("Reasoning effort: low");
  chat.type(`/model scripted:${join(home.path, "other.json")}\r`);
  await chat.shows("from now on.");
  chat.type("/reasoning high\r");
  await chat.shows("Reasoning effort from now on: high");
  chat.type("hi\r");
  await chat.shows("The other one.");
  chat.type("/reasoning\r");
  await chat.shows(/Reasoning effort: high/);
});

test("/plan go carries out what was planned, which only then may change something", async () => {
  const touch = { tools: [{ name: "terminal", input: { command: "touch made; ls made" } }] };
  const answers = [
    { text: "I try.", ...touch },
    { text: "My plan: touch made." },
    { text: "I do it.", ...touch },
    { text: "Done." },
  ];
  await using home = await openChatHome(answers, { HERMES_APPROVALS_MODE: "off" });
  await writeFile(join(home.path, "see.txt"), "one\ntwo\n");
  using chat = home.start();
  await chat.shows("/help");
  chat.type("/plan go\r");
  await chat.shows("has no message yet");
  chat.type("/plan\r");
  await chat.shows("Plan mode is on");
  chat.type("make it, see @see.txt \r");
  await chat.shows(/❯ make it, see @see\.txt\s+\+ \d lines of what it refers to\n/);
  await chat.shows(/✗ not run: Plan mode[\s\S]*\/plan go carries the plan out/);
  chat.type("/plan go\r");
  await chat.shows(/❯ The plan is approved\. Carry it out\.[\s\S]*made\n[\s\S]*Done\.[\s\S]* · off$/);
});

test("/logs -f prints lines as they arrive, and Esc ends it with `Stopped.` alone", async () => {
  await using home = await openChatHome([{ text: "Hello." }]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("hi\r");
  await chat.shows("Hello.");
  chat.type("/logs -f\r");
  await chat.shows(/turn ended/);
  chat.type(ESC);
  await chat.shows(/\nStopped\.\n/);
  expect(chat.screen()).not.toContain("Terminated");
});

test("the commands of the display and the session work without the model", async () => {
  await using home = await openChatHome([{ text: "One.\n\n```sh\nls -l\n```" }]);
  using chat = home.start();
  await chat.shows("/help");
  chat.type("hi\r");
  await chat.shows("ls -l");
  chat.type("/usage\r");
  await chat.shows(/requests +[12]/);
  chat.type("/todo\r");
  await chat.shows("The agent has no list of steps.");
  chat.type("/busy steer\r");
  await chat.shows(/❯ \/busy steer\n/);
  chat.type("/busy\r");
  await chat.shows("steer; the setting is display.busy_input_mode");
  chat.type("/copy code\r");
  await chat.shows(/There is no clipboard here|Copied/);
  chat.type("/config model.api_key sk-something\r");
  await chat.shows("A secret is not typed into the input line.");
  chat.type("/cls --all\r");
  await expect.poll(() => chat.bytes()).toContain(`${ESC}[3J`);
  chat.type("/status\r");
  await chat.shows(/session +\d{8}_/);
  expect(chat.screen()).not.toContain("requests");
  chat.type("/quit --delete\r");
  await chat.shows("code=0");
});
