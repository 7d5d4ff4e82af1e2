import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { expect, test } from "vitest";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { ASKING, openApprovalHome, RUN, terminal } from "../support/approval-home.ts";
import { startInTerminal } from "../support/pty.ts";

const me = userInfo().username;
const CTRL_C = "\u0003";
const ASKED = "Choose 1-5: ";

/** `hermes chat -q` on a real terminal, waiting at the question about the first call. */
async function openPrompt(calls: readonly string[] = [RUN]) {
  const prompt = await openChat([...calls.map(terminal), { text: "done" }]);
  await prompt.shows(`? terminal: ${calls[0]}`);
  await prompt.shows(ASKED);
  return prompt;
}

/** `hermes chat -q` on a real terminal. */
async function openChat(answers: ScriptInput["answers"]) {
  const home = await openApprovalHome({ answers });
  const args = ["chat", "-q", "go", "-m", `scripted:${home.scriptPath}`];
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: home.folder,
    HERMES_HOME: home.path,
    TERM: "xterm",
  };
  const session = await startInTerminal(args, { env, cwd: home.work });
  return {
    home,
    ...session,
    /** The decision about each call. */
    decisions: async () => (await home.audit()).map(({ verdict, step, scope }) => [verdict, step, scope]),
    async [Symbol.asyncDispose]() {
      session[Symbol.dispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

test("agent K2: yes, this once: the call runs, and the next one of its kind asks again", async () => {
  await using prompt = await openPrompt([RUN, `${RUN} # again`]);
  prompt.type("1\r");
  await prompt.shows(`approved by ${me}`);
  await prompt.shows(ASKED);
  prompt.type("1\r");
  await prompt.shows("done");
  expect(await prompt.exitCode()).toBe(0);
  expect(await prompt.home.runs()).toBe(2);
  expect(await prompt.decisions()).toEqual([
    ["allowed", "person", "once"],
    ["allowed", "person", "once"],
  ]);
});

test("agent K2, K3: yes, in this session: the next call of its kind runs unasked", async () => {
  await using prompt = await openPrompt([RUN, `${RUN} # again`]);
  prompt.type("2\r");
  await prompt.shows("done");
  expect(await prompt.exitCode()).toBe(0);
  expect(await prompt.home.runs()).toBe(2);
  expect(await prompt.decisions()).toEqual([
    ["allowed", "person", "session"],
    ["allowed", "remembered", "session"],
  ]);
});

test("agent K2: yes, always: the same call runs unasked in this session and in the next one", async () => {
  await using prompt = await openPrompt([RUN, RUN]);
  prompt.type("3\r");
  await prompt.shows("done");
  expect(await prompt.exitCode()).toBe(0);
  expect(await prompt.home.runs()).toBe(2);
  expect(await readFile(prompt.home.configPath, "utf8")).toContain(RUN);
  expect((await prompt.home.run(["-z", "go"])).exitCode).toBe(0);
  expect(await prompt.home.runs()).toBe(4);
  expect(await prompt.decisions()).toMatchObject([
    ["allowed", "person", "always"],
    ["allowed", "rule", undefined],
    ["allowed", "rule", undefined],
    ["allowed", "rule", undefined],
  ]);
});

test("agent K2: no: the call does not run", async () => {
  await using prompt = await openPrompt();
  prompt.type("4\r");
  await prompt.shows(`denied by ${me}`);
  await prompt.shows("done");
  expect(await prompt.exitCode()).toBe(0);
  expect(await prompt.home.runs()).toBe(0);
});

test("agent K2: no, with a reason: the reason is recorded and reaches the model", async () => {
  await using prompt = await openPrompt();
  prompt.type("5\r");
  await prompt.shows("Why (the model reads it): ");
  prompt.type("only on Fridays\r");
  await prompt.shows(`denied by ${me}: only on Fridays`);
  expect(await prompt.exitCode()).toBe(0);
  expect(await prompt.home.runs()).toBe(0);
  const transcript = await prompt.home.hermes(["sessions", "show", "latest"]);
  expect(transcript.stdout).toContain("only on Fridays");
});

test.each(["", "0", "6", "yes", "1 2"])(
  "the answer %j is not a valid choice, and the prompt asks again",
  async (keys) => {
    await using prompt = await openPrompt();
    prompt.type(`${keys}\r`);
    await prompt.shows(ASKED);
    expect(await prompt.home.runs()).toBe(0);
    prompt.type("4\r");
    expect(await prompt.exitCode()).toBe(0);
    expect(await prompt.home.runs()).toBe(0);
  },
);

test("an answer from another process ends the prompt, and the turn continues", async () => {
  await using prompt = await openPrompt();
  const [question] = await prompt.home.list();
  await prompt.home.hermes(["approvals", "approve", question?.id ?? ""]);
  await prompt.shows(`approved by ${me}`);
  await prompt.shows("done");
  expect(await prompt.exitCode()).toBe(0);
  expect(await prompt.home.runs()).toBe(1);
});

test("an answer after a denial from another process changes nothing", async () => {
  await using prompt = await openPrompt();
  const [question] = await prompt.home.list();
  await prompt.home.hermes(["approvals", "deny", question?.id ?? ""]);
  prompt.type("1\r"); // before or after the prompt has seen the denial
  await prompt.shows("done");
  expect(await prompt.exitCode()).toBe(0);
  expect(await prompt.home.runs()).toBe(0);
});

test("agent K2: Ctrl-C at the question stops the turn, withdraws the question and runs nothing", async () => {
  await using prompt = await openPrompt();
  const [question] = await prompt.home.list();
  prompt.type(CTRL_C);
  expect(await prompt.exitCode()).toBe(130);
  expect(await prompt.home.runs()).toBe(0);
  expect(await prompt.home.list()).toEqual([]);
  expect(await prompt.home.list("--all")).toMatchObject([{ state: "withdrawn", isHeld: false }]);
  const late = await prompt.home.hermes(["approvals", "approve", question?.id ?? ""]);
  expect(late.exitCode).not.toBe(0);
  expect(late.stderr).toContain("was already withdrawn; nothing was changed");
  expect(await prompt.decisions()).toMatchObject([["denied", "person", undefined]]);
});

test("agent K2: keys that were typed before the question do not answer it", async () => {
  const streaming = { text: "thinking aloud", chunk: 2, delay_ms: 150, ...terminal(RUN) };
  await using prompt = await openChat([streaming, { text: "done" }]);
  await prompt.shows("thinking");
  prompt.type("1\r1"); // a complete line, and the start of another one
  await prompt.shows("? terminal:");
  prompt.type("1\r"); // typed before the prompt reads its input
  await prompt.shows(ASKED);
  prompt.type("\r");
  await prompt.shows(ASKED);
  expect(await prompt.home.runs()).toBe(0);
  expect(await prompt.home.list()).toMatchObject([{ state: "waiting" }]);
  prompt.type("4\r");
  expect(await prompt.exitCode()).toBe(0);
  expect(await prompt.home.runs()).toBe(0);
});

test("agent K2: Ctrl-D does not count as an answer, and the prompt says so and asks again", async () => {
  await using prompt = await openPrompt();
  prompt.type("\u0004");
  await prompt.shows("That is not an answer.");
  await prompt.shows(ASKED);
  prompt.type("1\r");
  expect(await prompt.exitCode()).toBe(0);
  expect(await prompt.home.runs()).toBe(1);
});

test("Ctrl-C right after the question appears stops the turn too", async () => {
  await using prompt = await openChat([terminal(RUN), { text: "done" }]);
  await prompt.shows("5. no, and say why");
  prompt.type(CTRL_C);
  expect(await prompt.exitCode()).toBe(130);
  expect(await prompt.home.runs()).toBe(0);
  expect(await prompt.home.list("--all")).toMatchObject([{ state: "withdrawn" }]);
});

test("a command cannot draw on the terminal that asks about it, nor imitate the lines of the question", async () => {
  const hostile = `echo ran\u001b[2J\u001b[H \u200fsafe`;
  await using one = await openChat([terminal(hostile), { text: "done" }]);
  await one.shows("exactly");
  await one.shows(ASKED);
  for (const drawn of ["\u001b[2J", "\u001b[H", "\u200f"]) expect(one.screen()).not.toContain(drawn);
  one.type("4\r");
  expect(await one.exitCode()).toBe(0);
  await using lines = await openChat([terminal(`${RUN}\n  1. no`), { text: "done" }]);
  await lines.shows("\n  |   1. no");
  await lines.shows("3. yes, always: not possible, because the command has several lines");
  await lines.shows(ASKED);
  lines.type("3\r");
  await lines.shows("not possible");
  await lines.shows(ASKED);
  lines.type("4\r");
  expect(await lines.exitCode()).toBe(0);
  expect(await lines.home.runs()).toBe(0);
});

test("the question shows 4,000 characters of a command, says how many are hidden, and shows all on request", async () => {
  await using prompt = await openChat([terminal(`${RUN} # ${"x".repeat(4_500)} the end`), { text: "done" }]);
  await prompt.shows(/\d+ more characters are hidden: type s to see them/);
  await prompt.shows("Choose 1-5, or s to show the whole call: ");
  expect(prompt.screen()).not.toContain("the end");
  prompt.type("s\r");
  await prompt.shows("the end");
  await prompt.shows("Choose 1-5");
  prompt.type("4\r");
  expect(await prompt.exitCode()).toBe(0);
});

test("the question of a run whose terminal is closed is no longer shown as held", async () => {
  const prompt = await openPrompt();
  await using home = prompt.home;
  prompt[Symbol.dispose](); // closes the terminal with its shell
  await expect.poll(() => home.list()).not.toMatchObject([{ isHeld: true }]);
  expect(await home.runs()).toBe(0);
});

test("a single run with standard output on a terminal follows single_query_mode and shows no prompt", async () => {
  const { single_query_mode: _, ...approvals } = ASKING;
  await using home = await openApprovalHome({ answers: [terminal(RUN), { text: "done" }] }, approvals);
  const env = { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path };
  const args = ["-z", "go", "-m", `scripted:${home.scriptPath}`];
  using session = await startInTerminal(args, { env, cwd: home.work });
  expect(await session.exitCode()).toBe(0);
  expect(session.screen()).not.toContain("Choose");
  expect(await home.runs()).toBe(0);
});
