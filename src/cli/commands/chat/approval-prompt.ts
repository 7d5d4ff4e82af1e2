import type { AgentEvent } from "../../../agent/events.ts";
import type { Answer, Approval } from "../../../approvals/approval.ts";
import { numberChoices } from "../../../approvals/clarification.ts";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import { quoteBlock, quoteLine } from "../../terminal/quote-text.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { askForAnswer } from "./clarification-prompt.ts";

type Choice = Omit<Answer, "by">;

/** Limits how often the prompt is repeated after end of input (Ctrl-D), which a closed terminal reports forever. */
const MAX_ENDS = 3;
/** The full command is already shown above the choices. */
const SHOWN_RULE_CHARS = 200;

/**
 * Asks the person at this terminal to answer approvals and clarifications. An answer from elsewhere ends the prompt. `answer` stores
 * the choice. `stop` ends the turn: while the prompt is open, Ctrl-C arrives as a key and not as a signal.
 */
export function createApprovalPrompt(
  terminal: Terminal,
  {
    answer,
    stop,
    isShared,
  }: {
    answer(id: string, choice: Choice): Promise<unknown>;
    stop(): void;
    /** Whether other processes see the question. */
    readonly isShared: boolean;
  },
  signal: AbortSignal,
): { show(event: AgentEvent): void } {
  let open: AbortController | undefined;
  return {
    show(event) {
      if (event.type === "approval-answered") {
        open?.abort();
        terminal.note(formatAnswer(event.approval));
      }
      if (event.type !== "approval-asked") return;
      const { approval } = event;
      terminal.note(formatQuestion(approval, terminal, isShared));
      if (!terminal.interactive) return;
      open = new AbortController();
      choose(terminal, approval, AbortSignal.any([signal, open.signal]))
        .then((choice) => choice && answer(approval.id, choice))
        .catch((error: unknown) => {
          if (error instanceof AppError && error.code === "interrupted") stop();
          else if (!signal.aborted && open?.signal.aborted === false)
            terminal.note(`hermes: ${messageOf(error)}`);
        });
    },
  };
}

/** Formats what the call would do, why it needs an answer, and where it can be answered. */
function formatQuestion(
  approval: Approval,
  { interactive, noteColumns }: Terminal,
  isShared: boolean,
): string {
  const { id, kind, tool, summary, reason, details } = approval;
  const verb = kind === "approval" ? `approve ${id}` : `answer ${id} TEXT`;
  const hidden = details.whole === undefined ? 0 : details.whole.length - summary.length + 1;
  const where = interactive ? "type s to see them" : "`hermes approvals list --json` shows them";
  return [
    quoteBlock(`? ${quoteLine(tool)}:`, summary, noteColumns),
    ...(interactive ? [] : numberChoices(details).map((choice) => `  ${quoteLine(choice)}`)),
    ...(hidden === 0 ? [] : [`  ${hidden} more characters are hidden: ${where}.`]),
    `  ${quoteLine(reason)}`,
    ...(isShared
      ? [`  ${interactive ? "Answer here, or" : "Answer"} in another terminal: hermes approvals ${verb}`]
      : []),
  ].join("\n");
}

function formatAnswer({ state, answeredBy, answer }: Approval): string {
  const by = answeredBy === undefined ? "" : ` by ${quoteLine(answeredBy)}`;
  return `  ${state}${by}${answer === undefined ? "" : `: ${quoteLine(answer)}`}`;
}

async function choose(
  terminal: Terminal,
  approval: Approval,
  signal: AbortSignal,
): Promise<Choice | undefined> {
  if (approval.kind === "clarification") {
    const text = await askForAnswer(terminal, approval, signal);
    return text === undefined ? undefined : { verdict: "answered", text };
  }
  const { whole } = approval.details;
  const choices = choicesOf(approval);
  terminal.note(choices.map(({ words }, index) => `  ${index + 1}. ${words}`).join("\n"));
  await terminal.discardTyped(signal);
  for (let ends = 0; ends < MAX_ENDS; ) {
    const more = whole === undefined ? "" : ", or s to show the whole call";
    const text = (await terminal.ask(`  Choose 1-${choices.length}${more}: `, signal))?.trim();
    if (text === undefined) {
      ends++;
      terminal.note("\n  That is not an answer. Choose a number; Ctrl-C stops the turn.");
      continue;
    }
    if (text === "s" && whole !== undefined) terminal.note(quoteBlock("", whole, terminal.noteColumns));
    const chosen = /^[1-9]$/.test(text) ? choices[Number(text) - 1] : undefined;
    if (chosen === undefined) continue;
    if (chosen.choice === undefined) terminal.note(`  ${chosen.words}`);
    else if (!chosen.asksWhy) return chosen.choice;
    else {
      const why = await terminal.ask("  Why (the model reads it): ", signal);
      return { ...chosen.choice, text: why?.trim() || undefined };
    }
  }
  terminal.note(`  The question waits: hermes approvals approve ${approval.id}`);
  return undefined;
}

interface OfferedChoice {
  readonly words: string;
  /** Undefined if this call does not allow the choice, which keeps its number so that numbers mean the same for every call. */
  readonly choice: Choice | undefined;
  readonly asksWhy?: boolean;
}

function choicesOf(approval: Approval): readonly OfferedChoice[] {
  const { session, always } = approval.details;
  const offer = (
    words: string,
    scope: "session" | "always",
    rule: typeof always,
    why: string,
  ): OfferedChoice =>
    rule === undefined
      ? { words: `${words}: not possible, ${why}`, choice: undefined }
      : {
          words: `${words}: ${shorten(quoteLine(rule.words), SHOWN_RULE_CHARS)}`,
          choice: { verdict: "approved", scope },
        };
  return [
    { words: "yes, this once", choice: { verdict: "approved", scope: "once" } },
    offer("yes, in this session", "session", session, "because no rule could cover it"),
    offer("yes, always", "always", always, whyNotAlways(approval)),
    { words: "no", choice: { verdict: "denied" } },
    { words: "no, and say why", choice: { verdict: "denied" }, asksWhy: true },
  ];
}

function whyNotAlways({ summary }: Approval): string {
  if (summary.includes("\n")) return "because the command has several lines";
  if (summary.includes("*")) return "because the command contains *";
  return "because no rule could allow exactly this call";
}
