import { expect, test } from "vitest";
import { createGuardrails, type Observed } from "./guardrails.ts";

type Answer = readonly Observed[];

const call = (tool: string, input: string, text: string, more: Partial<Observed> = {}): Observed => ({
  ...{ tool, input, text, failed: false, mutates: true, durationMs: 40 },
  ...more,
});
const run = (command: string, output: string, exitCode = 0, more: Partial<Observed> = {}): Observed =>
  call("terminal", JSON.stringify({ command }), `${exitCode}\n${output}`, {
    failed: exitCode !== 0,
    ...more,
  });
const read = (path: string, text: string): Observed =>
  call("read_file", JSON.stringify({ path }), text, { mutates: false });
const patch = (from: string, to: string): Observed =>
  call("patch", JSON.stringify({ path: "a.ts", old_string: from, new_string: to }), `-${from}\n+${to}`);
const repeat = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** How many answers the turn lives through, and how many of them carried a warning. */
function watch(answers: readonly Answer[]): { readonly lived: number; readonly warned: number } {
  const guardrails = createGuardrails();
  let warned = 0;
  for (const [index, answer] of answers.entries()) {
    for (const observed of answer) guardrails.observe(observed);
    const { warning, halt } = guardrails.endAnswer();
    if (warning !== undefined) warned++;
    if (halt !== undefined) return { lived: index + 1, warned };
  }
  return { lived: answers.length, warned };
}

const FAILING_TEST = run("npm test", "1 failed: adds tax", 1);
const WORK: Readonly<Record<string, readonly Answer[]>> = {
  "a search for a name in twelve places that has it nowhere": repeat(12, (n) => [
    run(`grep -rn tax src/${n}`, "", 1),
  ]),
  "the same search twelve times in one answer": [repeat(12, () => run("grep -rn tax src", "", 1))],
  "twelve programs that are not installed": repeat(12, (n) => [
    run(`tool${n} --version`, "command not found", 127),
  ]),
  "twelve edits after each of which the same test fails the same way": repeat(12, (n) => [
    patch(`tax = ${n}`, `tax = ${n + 1}`),
    FAILING_TEST,
  ]),
  "edit, test and status, each in an answer of its own": repeat(12, (n) => [
    [patch(`tax = ${n}`, `tax = ${n + 1}`)],
    [FAILING_TEST],
    [run("git status --short", " M a.ts")],
  ]).flat(),
  "a page of a long file at a time, and the beginning again between the pages": repeat(12, (n) => [
    [read(`a.ts:${n * 500}`, `page ${n}`)],
    [read("a.ts:0", "page 0")],
  ]).flat(),
  "a wait for a build that says nothing new for a long time": repeat(12, () => [
    run("sleep 20; tail -n 1 build.log", "linking", 0, { durationMs: 20_010 }),
  ]),
  "a poll of a process that tells its age": repeat(12, (n) => [
    call("process", '{"action":"poll","session_id":"proc_1"}', `running, ${n} s`),
  ]),
  "commits of a rebase that all go through with the same words": repeat(8, () => [
    run("git rebase --continue", "Successfully rebased"),
  ]),
  "the same look at the end of a task as at its beginning": [
    [run("git status", "clean"), read("README.md", "hello")],
    [patch("a", "b")],
    [run("git status", "clean"), read("README.md", "hello")],
    [run("ls", "README.md")],
  ],
};

test.each(Object.entries(WORK))("%s is work", (_, answers) => {
  expect(watch(answers).lived).toBe(answers.length);
});

const CIRCLES: Readonly<Record<string, readonly Answer[]>> = {
  "the same failing command": repeat(9, () => [FAILING_TEST]),
  "the same read": repeat(9, () => [read("a.ts", "text")]),
  "a tool that does not exist": repeat(9, () => [
    call("Bash", "{}", "There is no tool", { failed: true, mutates: false }),
  ]),
  "two reads in turn": repeat(9, (n) => [read(n % 2 === 0 ? "a.ts" : "b.ts", "text")]),
  "an edit and its opposite with the same failing test": repeat(40, (n) => [
    n % 2 === 0 ? patch("a", "b") : patch("b", "a"),
    FAILING_TEST,
  ]),
  "a command that says the same each time and may change something": repeat(40, () => [
    run("ls", "README.md"),
  ]),
};

test.each(Object.entries(CIRCLES))("%s, over and over, is a circle", (_, answers) => {
  const { lived, warned } = watch(answers);
  expect(lived).toBeLessThan(answers.length);
  expect(warned).toBeGreaterThan(2);
});
