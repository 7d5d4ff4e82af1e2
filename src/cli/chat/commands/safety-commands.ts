import { CARRY_OUT } from "../../../conversation/prompt/plan-mode.ts";
import type { ChatCommand, ChatControl } from "./chat-command.ts";
import { parseSwitch, requireCall, requireStored, wrongUse } from "./command-input.ts";

/** Ends plan mode and tells the agent to do what it has planned. */
function carryOutPlan(chat: ChatControl): void {
  requireStored(chat);
  if (!chat.isPlanning()) throw wrongUse("Plan mode is off.", "Turn it on with /plan, and ask for a plan.");
  if (chat.state().turn !== undefined)
    throw wrongUse("The turn that makes the plan has not ended.", "Wait for its end, or stop it.");
  chat.setPolicy({ isPlanning: false });
  chat.send(CARRY_OUT);
}

export const SAFETY_COMMANDS: readonly ChatCommand[] = [
  {
    name: "plan",
    argument: "[on|off|go]",
    summary: "plan mode: only what changes nothing runs; go carries the plan out",
    availability: "always",
    complete: () => ["on", "off", "go"].map((value) => ({ value, summary: "" })),
    run(chat, word) {
      if (word === "go") return carryOutPlan(chat);
      const isPlanning = parseSwitch(word, chat.isPlanning());
      chat.setPolicy({ isPlanning });
      chat.print([isPlanning ? "Plan mode is on: nothing is changed." : "Plan mode is off."]);
    },
  },
  {
    name: "yolo",
    argument: "[on|off]",
    summary: "ask nothing in this session; what is always refused stays refused",
    availability: "always",
    run(chat, word) {
      const isYolo = parseSwitch(word, chat.isYolo());
      chat.setPolicy({ isYolo });
      chat.print([
        isYolo ? "Nothing is asked in this session. /yolo off ends that." : "Calls are asked about again.",
        ...(chat.isPlanning() ? ["Plan mode stays on: what would change something is refused."] : []),
      ]);
    },
  },
  {
    name: "approvals",
    summary: "questions that wait, of all sessions",
    availability: "always",
    run: (chat) => chat.runCli(["approvals", "list"]),
  },
  {
    name: "why",
    argument: "[CALL]",
    summary: "why a call was or was not run",
    availability: "always",
    run(chat, text) {
      const waiting = chat.state().questions.find(({ number }) => text === "" || Number(text) === number);
      if (waiting === undefined) return chat.runCli(["why", requireCall(chat, text).callId]);
      const { number, approval } = waiting;
      chat.print([`Call ${number} has not been run; it waits for your answer. ${approval.reason}`]);
    },
  },
  {
    name: "audit",
    summary: "the calls that were run or refused",
    availability: "always",
    run: (chat) => chat.runCli(["audit"]),
  },
];
