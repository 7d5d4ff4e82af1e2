import { expect, test } from "vitest";
import { captureStreams } from "../../../../../test/support/built-program.ts";
import { createTerminal } from "../../../terminal/terminal.ts";
import { createBoardScreen, type ScreenRow } from "./board-screen.ts";

const ROW: ScreenRow = { number: 1, title: "Write", assignee: "coder", state: "running", detail: "run 1" };

/** Prints two lines and two states of the board. */
function printBoard(isLive: boolean): string {
  const { streams, printed } = captureStreams({});
  const screen = createBoardScreen(createTerminal(streams), isLive);
  screen.say("first");
  screen.update([ROW]);
  screen.update([ROW]);
  screen.say("second");
  screen.update([{ ...ROW, state: "done" }]);
  screen.end();
  screen.say("after");
  return Buffer.concat(printed.stdout).toString();
}

test("the live board is redrawn below each new line, only when it changed, and stays above later output", () => {
  const shown = printBoard(true);
  expect(shown.split("\u001b[3A\u001b[J")).toHaveLength(3);
  expect(shown.split("\u001b[3A\u001b[J").at(-1)).toMatch(/1 of 1 done.*\n.*done +run 1\nafter\n$/);
});

test("without a live board, only its last state is printed", () => {
  expect(printBoard(false)).toMatch(/^first\nsecond\n\n.*1 of 1 done.*\n.*done +run 1\nafter\n$/);
});
