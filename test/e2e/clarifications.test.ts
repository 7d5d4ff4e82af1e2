import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { ASKING, openApprovalHome, resultsOf } from "../support/approval-home.ts";
import { startInTerminal } from "../support/pty.ts";

const me = userInfo().username;
const ASK = { question: "Which colour?", choices: ["red (recommended)", "dark blue"] };
const clarify = (input: Record<string, unknown> = ASK) => ({ tools: [{ name: "clarify", input }] });
const ONE_QUESTION = { answers: [clarify(), { text: "done" }] };

test("agent C3, K2: a question of the model waits for an answer from another process; a number chooses", async () => {
  await using home = await openApprovalHome(ONE_QUESTION);
  const { ended } = home.start(["-z", "go", "--json"]);
  const question = await home.question();
  expect(question).toMatchObject({ kind: "clarification", state: "waiting", isHeld: true });
  expect((await home.hermes(["approvals", "list"])).stdout).toMatch(
    /clarify: Which colour\?\s+1\. red\s+2\. dark\s+blue/,
  );
  const answered = await home.hermes(["approvals", "answer", question.id, "2"]);
  expect(answered).toMatchObject({ exitCode: 0, stdout: "Answered: Which colour? dark blue\n" });
  const run = await ended;
  expect(run.exitCode, run.stderr).toBe(0);
  expect(resultsOf(run)).toEqual(['{"question":"Which colour?","answer":"dark blue"}']);
  const twice = await home.hermes(["approvals", "answer", question.id, "1"]);
  expect(twice.exitCode).not.toBe(0);
  expect(twice.stderr).toContain(`was already answered by ${me}`);
  const [decision] = await home.audit();
  expect(decision).toMatchObject({ step: "person", verdict: "allowed", answeredBy: me });
});

test("agent C3: free text is an answer too; approve, deny, an empty text, a number out of range and a command that an agent runs are refused", async () => {
  await using home = await openApprovalHome(ONE_QUESTION);
  const { ended } = home.start(["-z", "go", "--json"]);
  const { id } = await home.question();
  const errorOf = async (words: readonly string[], env = {}) => {
    const run = await home.hermes(["approvals", ...words], { env });
    expect(run.exitCode).not.toBe(0);
    return run.stderr;
  };
  expect(await errorOf(["approve", id])).toContain(
    `${id} is a question of the model, not a call to approve.`,
  );
  expect(await errorOf(["deny", id])).toContain(`hermes approvals answer ${id} TEXT`);
  expect(await errorOf(["answer", id, " "])).toContain("The answer is empty.");
  const outside = await errorOf(["answer", id, "7"]);
  expect(outside).toContain("There is no choice 7, only 1 to 2.");
  expect(outside).toContain("Answer with a number, or in your own words.");
  expect(await errorOf(["answer", id, "1", "2"])).toContain("This question takes only one choice.");
  expect(await errorOf(["answer", id, "1"], { HERMES_COMMAND_ID: "c1" })).toContain(
    "Only a person may do this",
  );
  expect((await home.hermes(["approvals", "answer", id, "something", "lighter"])).exitCode).toBe(0);
  expect(resultsOf(await ended)[0]).toContain('"answer":"something lighter"');
});

test("a question about a call cannot be answered in words", async () => {
  await using home = await openApprovalHome({
    answers: [{ tools: [{ name: "terminal", input: { command: "echo ran" } }] }, { text: "done" }],
  });
  const { ended } = home.start(["-z", "go"]);
  const { id } = await home.question();
  const run = await home.hermes(["approvals", "answer", id, "sure"]);
  expect(run.exitCode).not.toBe(0);
  expect(run.stderr).toContain(`${id} asks whether a call may run`);
  expect(run.stderr).toContain(`hermes approvals approve ${id}`);
  await home.hermes(["approvals", "deny", id]);
  await ended;
});

test("agent C3: without an answer in time the model is asked to use its best judgement", async () => {
  await using home = await openApprovalHome(ONE_QUESTION, { ...ASKING, timeout: 1 });
  const run = await home.run(["-z", "go", "--json"]);
  expect(run.exitCode, run.stderr).toBe(0);
  expect(resultsOf(run)[0]).toContain("Use your best judgement");
  expect(await home.list("--all")).toMatchObject([{ kind: "clarification", state: "expired" }]);
});

test("agent C3: a run that cannot ask a person does not offer the tool", async () => {
  await using home = await openApprovalHome(ONE_QUESTION, { single_query_mode: "deny" });
  const run = await home.run(["-z", "go", "--json"]);
  expect(resultsOf(run)[0]).toContain('There is no tool "clarify"');
  expect(await home.list("--all")).toEqual([]);
});

test("agent K2: a question survives kill -9: its answer reaches the resumed session, which does not ask again", async () => {
  await using home = await openApprovalHome({
    turns: ["begin", "continue"].map((when) => ({ when, ...ONE_QUESTION })),
  });
  const { child, ended } = home.start(["-z", "begin"]);
  const { id } = await home.question();
  child.kill("SIGKILL");
  await ended;
  expect(await home.list()).toMatchObject([{ id, state: "waiting", isHeld: false }]);
  const answered = await home.hermes(["approvals", "answer", id, "1"]);
  expect(answered.stdout).toContain("The process that asked has ended.");
  const run = await home.run(["-c", "-z", "continue", "--json"]);
  expect(run.exitCode, run.stderr).toBe(0);
  const [pending, repeated] = resultsOf(run);
  expect(pending).toContain("The user has answered it in the meantime: red");
  expect(repeated).toBe('{"question":"Which colour?","answer":"red"}');
  expect(await home.list()).toEqual([]);
});

test('agent K2: the terminal shows numbered choices; several numbers, own words and "Decide yourself" are answers', async () => {
  await using home = await openApprovalHome({
    answers: [
      clarify({ ...ASK, multi_select: true }),
      clarify(),
      clarify({ question: "Which shade?" }),
      { text: "done" },
    ],
  });
  const env = { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path, TERM: "xterm" };
  using prompt = await startInTerminal(["chat", "-q", "go", "-m", `scripted:${home.scriptPath}`], {
    env,
    cwd: home.work,
  });
  await prompt.shows("Numbers such as 1 2, or your own answer: ");
  prompt.type("1 2\r");
  await prompt.shows("A number, or your own answer: ");
  prompt.type("\r"); // an empty line is not an answer
  await prompt.shows("A number, or your own answer: ");
  prompt.type("9\r");
  await prompt.shows("There is no choice 9, only 1 to 3.");
  await prompt.shows("A number, or your own answer: ");
  prompt.type("something lighter\r");
  await prompt.shows("Which shade?");
  await prompt.shows("  1. Decide yourself.");
  await prompt.shows("A number, or your own answer: ");
  prompt.type("1\r");
  await prompt.shows("done");
  expect(await prompt.exitCode()).toBe(0);
  expect((await home.list("--all")).map(({ answer }) => answer)).toEqual([
    "red\ndark blue",
    "something lighter",
    "Use your best judgement, and say what you assumed.",
  ]);
});
