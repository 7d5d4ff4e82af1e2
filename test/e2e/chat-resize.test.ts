import { describe, expect, test } from "vitest";
import { ENTRY } from "../support/built-program.ts";
import { openChatHome } from "../support/chat-home.ts";
import { hasTmux, openTmux } from "../support/tmux.ts";

const ANSWER = Array.from({ length: 150 }, (_, at) => `answer ${at} ${"lorem ipsum dolor ".repeat(at % 4)}`);

describe.skipIf(!hasTmux)("in tmux", () => {
  test("C1, C10: 60 lines of the shell and all lines of the answer are kept in order while the window is dragged and made tiny", async () => {
    await using home = await openChatHome([{ text: ANSWER.join("\n\n"), chunk: 24, delay_ms: 4 }]);
    using window = openTmux(home.env, home.path);
    const shell = Array.from({ length: 60 }, (_, at) => `shell ${at + 1}`);
    await window.shows(/[#$]$/); // text typed before the prompt would be echoed before it
    window.type(
      `i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo shell $i; done; '${process.execPath}' '${ENTRY}'`,
    );
    window.press("Enter");
    await window.shows("/help");
    window.type("go");
    window.press("Enter");
    await window.shows("answer 10");
    const steps = [
      77, 74, 71, 68, 65, 62, 60, 65, 70, 75, 80, 85, 90, 95, 100, 90, 80, 70, 60, 50, 40, 30, 25, 20,
    ];
    for (const columns of [...steps, 40, 60, 70, 80]) window.resize(columns, 24);
    await window.shows("answer 60");
    window.resize(20, 6);
    await window.shows("answer 80");
    window.resize(80, 24);
    await expect.poll(window.screen, { timeout: 20_000 }).not.toContain("answering");
    await window.shows(/❯ *\n[^\n]*asks$/);
    const lines = window.screen().split("\n");
    expect(lines.filter((line) => /^shell \d+$/.test(line))).toEqual(shell);
    // On a busy machine tmux may rewrap its lines just while a frame is on its way. What that leaves behind is a stray live
    // row; painter.test.ts counts those, with a clock of its own.
    const found = lines.flatMap((line) => /\banswer \d+\b/.exec(line)?.[0] ?? []);
    const expected = ANSWER.map((line) => /^answer \d+/.exec(line)?.[0]);
    expect(found.filter((line, at) => found.indexOf(line) === at)).toEqual(expected);
  });
});
