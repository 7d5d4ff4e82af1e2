import { expect, test } from "vitest";
import { createLoopDetector, type ObservedCall } from "./loop-detector.ts";

type Answer = readonly ObservedCall[];

const call = (tool: string, input: string, text: string, more: Partial<ObservedCall> = {}): ObservedCall => ({
  ...{ tool, input, text, failed: false, mutates: true, durationMs: 40 },
  ...more,
});
const run = (command: string, output: string, exitCode = 0, more: Partial<ObservedCall> = {}): ObservedCall =>
  call("terminal", JSON.stringify({ command }), `${exitCode}\n${output}`, {
    failed: exitCode !== 0,
    ...more,
  });
const read = (path: string, text: string): ObservedCall =>
  call("read_file", JSON.stringify({ path }), text, { mutates: false });
const patch = (from: string, to: string): ObservedCall =>
  call("patch", JSON.stringify({ path: "a.ts", old_string: from, new_string: to }), `-${from}\n+${to}`);
const repeat = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Whether the detector ends the turn, and how many answers got a warning. */
function watch(answers: readonly Answer[]): { readonly isHalted: boolean; readonly warned: number } {
  const detector = createLoopDetector();
  let warned = 0;
  for (const answer of answers) {
    for (const observed of answer) detector.observe(observed);
    const { warning, halt } = detector.endAnswer();
    if (warning !== undefined) warned++;
    if (halt !== undefined) return { isHalted: true, warned };
  }
  return { isHalted: false, warned };
}

const FAILING_TEST = run("npm test", "1 failed: adds tax", 1);
const PROGRESS: Readonly<Record<string, readonly Answer[]>> = {
  "a search for a name in twelve folders that do not contain it": repeat(12, (n) => [
    run(`grep -rn tax src/${n}`, "", 1),
  ]),
  "the same search twelve times in one answer": [repeat(12, () => run("grep -rn tax src", "", 1))],
  "twelve programs that are not installed": repeat(12, (n) => [
    run(`tool${n} --version`, "command not found", 127),
  ]),
  "twelve edits, each followed by the same test failure": repeat(12, (n) => [
    patch(`tax = ${n}`, `tax = ${n + 1}`),
    FAILING_TEST,
  ]),
  "edit, test and status, each in a separate answer": repeat(12, (n) => [
    [patch(`tax = ${n}`, `tax = ${n + 1}`)],
    [FAILING_TEST],
    [run("git status --short", " M a.ts")],
  ]).flat(),
  "reading a long file page by page, with the first page again in between": repeat(12, (n) => [
    [read(`a.ts:${n * 500}`, `page ${n}`)],
    [read("a.ts:0", "page 0")],
  ]).flat(),
  "waiting for a build that prints nothing new for a long time": repeat(12, () => [
    run("sleep 20; tail -n 1 build.log", "linking", 0, { durationMs: 20_010 }),
  ]),
  "polling a process that reports its age": repeat(12, (n) => [
    call("process", '{"action":"poll","session_id":"proc_1"}', `running, ${n} s`),
  ]),
  "continuing a rebase, with the same output for each commit": repeat(8, () => [
    run("git rebase --continue", "Successfully rebased"),
  ]),
  "the same check at the start and at the end of a task": [
    [run("git status", "clean"), read("README.md", "hello")],
    [patch("a", "b")],
    [run("git status", "clean"), read("README.md", "hello")],
    [run("ls", "README.md")],
  ],
};

test.each(Object.entries(PROGRESS))("%s is progress", (_, answers) => {
  expect(watch(answers).isHalted).toBe(false);
});

const LOOPS: Readonly<Record<string, readonly Answer[]>> = {
  "the same failing command": repeat(9, () => [FAILING_TEST]),
  "the same read": repeat(9, () => [read("a.ts", "text")]),
  "a tool that does not exist": repeat(9, () => [
    call("Bash", "{}", "There is no tool", { failed: true, mutates: false }),
  ]),
  "two alternating reads": repeat(9, (n) => [read(n % 2 === 0 ? "a.ts" : "b.ts", "text")]),
  "an edit and its opposite with the same failing test": repeat(40, (n) => [
    n % 2 === 0 ? patch("a", "b") : patch("b", "a"),
    FAILING_TEST,
  ]),
  "a command with constant output that may change something": repeat(40, () => [run("ls", "README.md")]),
};

test.each(Object.entries(LOOPS))("%s, repeated, is a loop", (_, answers) => {
  const { isHalted, warned } = watch(answers);
  expect(isHalted).toBe(true);
  expect(warned).toBeGreaterThan(2);
});
