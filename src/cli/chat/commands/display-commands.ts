import type { ChatCommand } from "./chat-command.ts";
import { parseSwitch, requireCall, splitWords, wrongUse } from "./command-input.ts";

const DETAILS = ["off", "calls", "all"] as const;
const ON_OFF = ["on", "off"].map((value) => ({ value, summary: "" }));
const CODE = /^```[^\n]*\n([\s\S]*?)^```/gm;

export const DISPLAY_COMMANDS: readonly ChatCommand[] = [
  {
    name: "out",
    argument: "[CALL]",
    summary: "the whole output or diff of a call, or the whole command of a question",
    availability: "always",
    async run(chat, text) {
      const asked = chat.state().questions.find(({ number }) => text === "" || number === Number(text));
      if (asked !== undefined) {
        const { tool, summary, details } = asked.approval;
        return chat.page(`${tool}\n\n${details.whole ?? summary}\n`);
      }
      const { tool, argument, body } = requireCall(chat, text);
      return chat.page(
        `${tool} ${argument}\n\n${(await chat.wholeOutput(body)).trimEnd() || "(no output)"}\n`,
      );
    },
  },
  {
    name: "copy",
    argument: "[NUMBER|code [NUMBER]|all]",
    summary: "copy an answer (1 is the last one), a code block of it, or all answers",
    availability: "always",
    complete: () => [
      { value: "code", summary: "the last code block" },
      { value: "all", summary: "all answers of this session" },
    ],
    async run(chat, text) {
      chat.print([await chat.copy(chooseText(chat.answers(), splitWords(text)))]);
    },
  },
  {
    name: "diff",
    summary: "all changes of files in this chat, in the pager",
    availability: "always",
    run(chat) {
      const diffs = chat.calls().filter(({ body }) => /^(?:---|@@|diff )/m.test(body));
      if (diffs.length === 0)
        throw wrongUse("No call of this chat has changed a file.", "See /out for one call.");
      return chat.page(
        diffs.map(({ number, argument, body }) => `# ${number} ${argument}\n${body}\n`).join("\n"),
      );
    },
  },
  {
    name: "raw",
    argument: "[on|off]",
    summary: "print answers as the model writes them; the terminal wraps them",
    availability: "always",
    complete: () => ON_OFF,
    run(chat, word) {
      chat.display.isRaw = parseSwitch(word, chat.display.isRaw);
      chat.print([
        chat.display.isRaw ? "Answers are printed as they are written." : "Answers are formatted.",
      ]);
    },
  },
  {
    name: "verbose",
    argument: "[off|calls|all]",
    summary: "how much of a call is shown: one row, its name and end, or its output as well",
    availability: "always",
    complete: () => DETAILS.map((value) => ({ value, summary: "" })),
    run(chat, word) {
      const detail = DETAILS.find((name) => name === word);
      if (word !== "" && detail === undefined)
        throw wrongUse(`"${word}" is not a level.`, `Type ${DETAILS.join(", ")}.`);
      if (detail !== undefined) chat.display.detail = detail;
      chat.print([`Calls are shown with: ${chat.display.detail}`]);
    },
  },
  {
    name: "cls",
    argument: "[--all]",
    summary: "clear the screen; with --all also the scrollback",
    availability: "always",
    complete: () => [{ value: "--all", summary: "clear the scrollback, too" }],
    run: (chat, text) => chat.clearScreen(text === "--all"),
  },
];

/** The text that the arguments of `/copy` select: an answer (by default the last one), a code block or all answers. */
function chooseText(answers: readonly string[], [what = "1", number]: readonly string[]): string {
  if (answers.length === 0) throw wrongUse("There is no answer to copy yet.", "Ask something first.");
  if (what === "all") return answers.join("\n\n");
  if (what === "code") {
    const blocks = answers.flatMap((answer) => [...answer.matchAll(CODE)].map(([, code = ""]) => code));
    const block = blocks.at(-Number(number ?? "1"));
    if (block === undefined)
      throw wrongUse("There is no such code block.", `This session has ${blocks.length}.`);
    return block;
  }
  const answer = answers.at(-Number(what));
  if (answer === undefined || !/^[1-9]\d*$/.test(what))
    throw wrongUse(`There is no answer ${what}.`, `This session has ${answers.length}; 1 is the last one.`);
  return answer;
}
