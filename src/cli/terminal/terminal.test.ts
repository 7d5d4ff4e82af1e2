import { expect, test } from "vitest";
import { createEventView } from "./event-view.ts";
import { createTerminal, type TerminalStreams } from "./terminal.ts";

/** A terminal on fake streams of the given widths, and the text written to each stream. */
function open(stdoutColumns: number | undefined, stderrColumns: number | undefined) {
  const written = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof written, columns: number | undefined) => ({
    isTTY: columns !== undefined,
    columns,
    write: (text: string) => {
      written[name] += text;
      return true;
    },
  });
  const streams = {
    stdin: { isTTY: false, fd: 0 },
    stdout: stream("stdout", stdoutColumns),
    stderr: stream("stderr", stderrColumns),
    env: { TERM: "xterm" },
  } as unknown as TerminalStreams;
  return { terminal: createTerminal(streams), written };
}

test("an answer is escaped in a pipe too, because the pipe may lead to a terminal", () => {
  for (const columns of [undefined, 80]) {
    const { terminal, written } = open(columns, 80);
    const view = createEventView(terminal, terminal.note);
    view.show({ type: "text-delta", text: "# **bold** \u001b[2J\u001b[31mred\u009b3J\n\ttab" });
    view.endLine();
    expect(written.stdout).toBe("# **bold** �[2J�[31mred�3J\n\ttab\n");
  }
});

test("notices written to a file have no colours even if results go to a terminal", () => {
  const { terminal, written } = open(80, undefined);
  terminal.note(terminal.colours.red("wrong"));
  terminal.print(terminal.colours.red("wrong"));
  expect(written).toEqual({ stdout: "\u001b[31mwrong\u001b[39m\n", stderr: "wrong\n" });
});

test("progress lines are as wide as the terminal that shows them, wherever the answer goes", () => {
  const { terminal, written } = open(undefined, 200);
  const input = JSON.stringify({ command: `echo ${"x".repeat(100)}` });
  const call = { type: "tool-call", callId: "c", tool: "terminal", input } as const;
  createEventView(terminal, terminal.note, terminal.noteColumns).show({ type: "tools-start", calls: [call] });
  expect(written.stderr).toBe(`→ terminal echo ${"x".repeat(100)}\n`);
});
