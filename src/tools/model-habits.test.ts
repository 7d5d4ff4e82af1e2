import { afterAll, beforeAll, expect, test } from "vitest";
import {
  openLocalTestEnvironment,
  openToolLab,
  type TestEnvironment,
  type ToolLab,
} from "../../test/support/tool-lab.ts";
import { findTool } from "./find-tool.ts";

let testEnvironment: TestEnvironment;
let lab: ToolLab;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
  lab = await openToolLab(testEnvironment, { setUp: "printf 'one\\ntwo\\nthree\\nfour\\n' > a.txt" });
});
afterAll(async () => {
  await lab[Symbol.asyncDispose]();
  await testEnvironment[Symbol.asyncDispose]();
});

/** Calls in the style of other agents' tools, each with a part of the expected result. */
test.each<readonly [source: string, tool: string, input: object, expected: string]>([
  ["Codex CLI", "exec_command", { cmd: "echo hi", workdir: ".", justification: "because" }, "hi"],
  ["Codex CLI", "shell", { command: ["bash", "-lc", "echo a b | wc -w"], timeout_ms: 2_000 }, "2"],
  ["Codex CLI", "shell", { command: ["printf", "%s.", "it's one"] }, "it's one."],
  ["Claude Code", "Bash", { command: "echo hi", description: "Says hi", timeout: 120_000 }, "hi"],
  ["OpenAI's strict mode", "terminal", { command: "echo hi", timeout: null, workdir: null, pty: null }, "hi"],
  ["GitHub Copilot", "run_in_terminal", { command: "echo hi", explanation: "x", isBackground: false }, "hi"],
  ["gpt-oss", "functions.terminal", { command: "echo hi" }, "hi"],
  ["small models", "Terminal", { command: "echo hi" }, "hi"],
  ["small models", "functions.READ_FILE", { path: "a.txt", limit: 2 }, "1|one"],
  ["small models", "ReadFile", { path: "a.txt", offset: 2 }, "2|two"],
  ["models that write JSON files", "write_file", { path: "f.json", content: { a: [1] } }, "f.json"],
  ["models that write JSON files", "write_file", { path: "g.json", contents: [1] }, "g.json"],
  ["models that write JSON files", "write_file", { path: "h.txt", content: 42 }, "h.txt"],
  [
    "small models",
    "terminal",
    { command: "cat f.json g.json h.txt" },
    '{\n  "a": [\n    1\n  ]\n}\n[\n  1\n]\n42',
  ],
  ["Codex CLI", "terminal", { cmd: ["echo", "a  b"] }, "a  b"],
  ["Claude Code", "Read", { file_path: "a.txt", limit: 1 }, "1|one"],
  ["Anthropic's text editor", "read_file", { path: "a.txt", view_range: [2, 3] }, "2|two\n3|three\n"],
  ["GitHub Copilot", "read_file", { filePath: "a.txt", startLine: 4 }, "4|four"],
  ["Claude Code", "Write", { file_path: "b.txt", content: "x\n" }, "b.txt"],
  ["Anthropic's text editor", "write_file", { path: "c.txt", file_text: "x\n" }, "c.txt"],
  ["Claude Code", "Edit", { file_path: "b.txt", old_string: "x", new_string: "y" }, "+y"],
  ["Anthropic's text editor", "patch", { path: "b.txt", old_str: "y", new_str: "z" }, "+z"],
  ["opencode", "edit", { filePath: "b.txt", oldString: "z", newString: "u", replaceAll: false }, "+u"],
  [
    "Codex CLI",
    "apply_patch",
    { input: "*** Begin Patch\n*** Add File: d.txt\n+new\n*** End Patch" },
    "d.txt",
  ],
  ["many", "patch", { patch: "*** Begin Patch\n*** Add File: e.txt\n+new\n*** End Patch" }, "e.txt"],
  ["Claude Code", "Grep", { pattern: "tw.", glob: "a.*", output_mode: "files_with_matches" }, "a.txt"],
  ["Cline", "search_files", { regex: "thr", file_pattern: "*.txt", path: "." }, "a.txt:3:three"],
  [
    "Claude Code",
    "TodoWrite",
    { todos: [{ content: "a", status: "pending", activeForm: "doing a" }] },
    '"id":"1"',
  ],
  ["Codex CLI", "update_plan", { plan: [{ step: "look", status: "completed" }] }, '"content":"look"'],
])("a call in the style of %s works: %s %j", async (_, name, input, expected) => {
  const tool = findTool(lab.tools, name);
  const result = await lab.call(tool?.name ?? name, input);
  expect(result).toMatchObject({ failed: false, text: expect.stringContaining(expected) });
  expect(result.text).not.toContain("no argument");
});
