import {
  answerApproval,
  countQuestionsElsewhere,
  openAppSessions,
  toClarificationAnswer,
  unblockAskingTask,
} from "../../../app/approvals.ts";
import type { Answer, Approval } from "../../../approvals/approval.ts";
import { formatClarification } from "../../../approvals/clarification.ts";
import { checkLiveness, parseIdentity } from "../../../lib/process/process-identity.ts";
import { formatTime } from "../../../lib/time/format-time.ts";
import type { AnswerScope } from "../../../policy/decision.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { requirePerson } from "../../require-person.ts";
import { quoteLine, quoteShort } from "../../terminal/quote-text.ts";
import { renderTable } from "../../terminal/table.ts";
import type { Terminal } from "../../terminal/terminal.ts";

const SHOWN_MS = 30 * 86_400_000;

/** Whether the process that asked is still waiting. If it has exited, the answer is used when the session is resumed. */
async function isHeld({ holder }: Approval, signal: AbortSignal): Promise<boolean> {
  const identity = holder === undefined ? undefined : parseIdentity(holder);
  return identity !== undefined && (await checkLiveness(identity, signal)) !== "dead";
}

export async function listApprovals(
  { terminal, openApp, signal }: CommandContext,
  { all, json }: JsonOption & { readonly all?: boolean },
): Promise<void> {
  const app = await openApp();
  using store = await openAppSessions(app, signal);
  const found = all ? store.approvals.since(Date.now() - SHOWN_MS) : store.approvals.waiting();
  const rows = await Promise.all(
    found.map(async (approval) => ({ ...approval, isHeld: await isHeld(approval, signal) })),
  );
  if (json) return terminal.printJson(rows.map(({ holder: _, ...row }) => row));
  if (rows.length === 0)
    terminal.print(all ? "No questions were asked." : "No question waits for an answer.");
  else printRows(rows, terminal);
  for (const { profile, count } of await countQuestionsElsewhere(app, signal)) {
    const what = count === 1 ? "1 question waits" : `${count} questions wait`;
    terminal.note(`${what} in the profile ${profile}: hermes -p ${profile} approvals list`);
  }
}

function printRows(rows: readonly (Approval & { readonly isHeld: boolean })[], terminal: Terminal): void {
  terminal.print(
    renderTable(
      ["ID", "ASKED", "STATE", "SESSION", "CALL"],
      rows.map((row) => [
        row.id,
        formatTime(row.askedAt),
        row.state === "waiting" && !row.isHeld ? "waiting (its process has ended)" : row.state,
        row.sessionId,
        `${row.tool}: ${quoteShort(describe(row))}`,
      ]),
      terminal,
    ),
  );
}

function describe(approval: Approval): string {
  return approval.kind === "clarification" ? formatClarification(approval) : approval.summary;
}

export async function approve(
  context: CommandContext,
  id: string,
  { for: scope, json }: JsonOption & { readonly for: AnswerScope },
): Promise<void> {
  await answer(context, id, () => ({ verdict: "approved", scope }), json);
}

export async function deny(
  context: CommandContext,
  id: string,
  reason: readonly string[],
  { json }: JsonOption,
): Promise<void> {
  await answer(context, id, () => ({ verdict: "denied", text: reason.join(" ") || undefined }), json);
}

export async function answerQuestion(
  context: CommandContext,
  id: string,
  words: readonly string[],
  { json }: JsonOption,
): Promise<void> {
  await answer(context, id, (question) => toClarificationAnswer(question, words.join(" ")), json);
}

async function answer(
  context: CommandContext,
  id: string,
  choose: (question: Approval) => Omit<Answer, "by">,
  json: boolean | undefined,
): Promise<void> {
  requirePerson(context);
  const { terminal, openApp, signal } = context;
  const app = await openApp();
  using store = await openAppSessions(app, signal);
  const question = store.approvals.require(id);
  const choice = choose(question);
  const granted = describeGrant(question, choice.scope);
  if (granted !== undefined && !json) terminal.note(`This will also allow ${granted}`);
  const answered = await answerApproval(app, store, id, choice, signal);
  const { summary, state, sessionId, details } = answered;
  await unblockAskingTask(app, answered, signal);
  const held = await isHeld(answered, signal);
  if (json) return terminal.printJson({ ...answered, holder: undefined, isHeld: held });
  const what = state === "answered" ? `${summary} ${answered.answer}` : summary;
  terminal.print(`${state.replace(/^./, (letter) => letter.toUpperCase())}: ${quoteShort(what)}`);
  if (granted !== undefined) terminal.print(`Allowed ${granted}`);
  if (details.task !== undefined) terminal.print(`Task ${details.task.taskId} is ready again.`);
  else if (!held)
    terminal.print(
      `The process that asked has ended. Continue the session with: hermes -r ${sessionId} -z "Continue"`,
    );
}

/** Describes the rule that an answer adds besides allowing this call, and where the rule applies. */
function describeGrant({ details, sessionId }: Approval, scope: AnswerScope | undefined): string | undefined {
  const { session, always } = details;
  if (scope === "session" && session !== undefined)
    return `in session ${sessionId}: ${quoteLine(session.words)} (rule ${quoteLine(session.rule)})`;
  if (scope === "always" && always !== undefined)
    return `in every session, by a rule in approvals.allow: ${quoteLine(always.rule)}`;
  return undefined;
}
