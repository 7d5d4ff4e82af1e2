import { stripVTControlCharacters } from "node:util";
import type { ApprovalDetails } from "../../../approvals/approval.ts";
import { numberChoices } from "../../../approvals/clarification.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { cutText, foldText, textWidth, wrapText } from "../../terminal/fit-text.ts";
import { quoteLine } from "../../terminal/quote-text.ts";
import type { Colours } from "../../terminal/terminal.ts";
import { formatDuration } from "../format-duration.ts";
import type { EditorView } from "../input/editor.ts";
import type { InputView } from "../input/input-line.ts";
import type { KeyBindings } from "../input/key-bindings.ts";
import type { PanelView } from "../panel/panel.ts";
import type { LiveArea, ScreenSize } from "../screen/screen.ts";
import { styledWidth } from "../screen/styled-width.ts";
import type { ChatFacts, ChatState, RunningTurn } from "../state/chat-state.ts";
import type { StatusField } from "../state/status-fields.ts";
import { type DrawnRows, drawCompletion, drawPanel } from "./draw-lists.ts";

export interface DrawRequest {
  readonly state: ChatState;
  /** Rows of the answer that may still change. */
  readonly tail: readonly string[];
  readonly input: InputView;
  /** Whether something was printed after the question, so that the live area has to repeat its title. */
  readonly isQuestionBuried: boolean;
  /** The panel that has the keys instead of the input line. */
  readonly panel?: PanelView | undefined;
  readonly keys: KeyBindings;
  readonly size: ScreenSize;
  readonly now: number;
}

const MAX_ROWS = 18;
const MAX_TAIL_ROWS = 6;
const MAX_CALLS = 4;
const MAX_QUEUE = 3;
const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const FRAME_MS = 120;
const SILENCE_MS = 60_000;
/** A call that runs for this long shows the key that stops it. */
const LONG_CALL_MS = 20_000;
/** Faster commands show nothing but their result. */
const SLOW_COMMAND_MS = 400;

/** The live area: unfinished text, running calls, question, queue, input or panel, and status, as much as fits. */
export function draw(request: DrawRequest, colours: Colours): LiveArea {
  const { state, tail, size, now, keys } = request;
  const width = Math.max(1, size.columns - 1);
  const room = Math.max(2, Math.min(size.rows - 1, MAX_ROWS));
  const hasDraft = request.input.rows.some((row) => row !== "");
  const question = [
    ...(request.isQuestionBuried ? questionTitle(state, colours, width) : []),
    ...questionRows(state, now, colours, width, keys, hasDraft),
  ];
  const status = statusRow(state, width, now, colours, keys);
  const input = inputRows(request, Math.max(1, room - 1 - question.length), width, colours);
  const shownQuestion = question.slice(-Math.max(1, room - 1 - input.rows.length));
  const fixed = [...shownQuestion, ...input.rows, status];
  const above = [
    ...tail.flatMap((row) => foldRow(row, width)).slice(-MAX_TAIL_ROWS),
    ...callRows(state, width, now, colours, keys),
    ...activityRows(state, now, colours, keys),
    ...commandRows(state, now, colours, keys),
    ...queueRows(state, width, colours, keys),
    ...stashRows(request, width, colours),
  ];
  const shown = above.slice(Math.max(0, above.length - Math.max(0, room - fixed.length)));
  const rows = [...shown, ...fixed];
  const caretRow = rows.length - 1 - input.rows.length + input.caret.row;
  return { rows, caret: { row: Math.max(0, caretRow), column: input.caret.column } };
}

/** The panel if one is open, otherwise the input line with its completions or its position in the history below it. */
function inputRows(
  { input, panel, keys }: DrawRequest,
  room: number,
  width: number,
  colours: Colours,
): DrawnRows {
  if (panel !== undefined) return drawPanel(panel, keys, room, width, colours);
  const editor = visibleInput(input, room, colours);
  const below =
    input.completion === undefined
      ? historyRows(input, keys, width, colours)
      : drawCompletion(input.completion, width, colours);
  return {
    rows: [...editor.rows, ...below.slice(0, Math.max(0, room - editor.rows.length))],
    caret: editor.caret,
  };
}

const FROM = { session: "this session", folder: "this folder", elsewhere: "── other folders ──" } as const;

function historyRows({ history }: InputView, keys: KeyBindings, width: number, colours: Colours): string[] {
  if (history === undefined) return [];
  const back = keys.label("down");
  const hint = back === undefined ? "" : ` · ${back} brings the draft back`;
  return [colours.dim(cutText(`  history ${history.number} · ${FROM[history.from]}${hint}`, width))];
}

function stashRows({ input, keys }: DrawRequest, width: number, colours: Colours): string[] {
  if (input.stash === undefined) return [];
  const key = keys.label("stash");
  const hint = key === undefined ? "" : ` · ${key} brings it back`;
  return [withHint(`  aside: ${quoteLine(input.stash)}`, hint, width, colours)];
}

/** A text of the user and a hint after it, which is omitted if it would leave the text less than half of the row. */
function withHint(text: string, hint: string, width: number, colours: Colours): string {
  if (textWidth(hint) > width / 2 && textWidth(text) + textWidth(hint) > width) return cutText(text, width);
  return cutText(text, width - textWidth(hint)) + colours.dim(hint);
}

function visibleInput(editor: EditorView, room: number, colours: Colours): EditorView {
  const first = Math.max(0, Math.min(editor.caret.row - Math.floor(room / 2), editor.rows.length - room));
  const rows = editor.rows.slice(first, first + room);
  const prompt = (index: number): string => (first + index === 0 ? `${colours.cyan("❯")} ` : "  ");
  return {
    rows: rows.map((row, index) => prompt(index) + row),
    caret: { row: editor.caret.row - first, column: editor.caret.column + 2 },
  };
}

function callRows(
  { turn, calls, questions, hasMotion }: ChatState,
  width: number,
  now: number,
  colours: Colours,
  keys: KeyBindings,
): string[] {
  const isQuiet = turn === undefined || turn.activity === "stopping" || isSilent(turn, now);
  const canStop = !isQuiet && questions.length === 0; // otherwise another row names the key
  return calls.slice(-MAX_CALLS).flatMap((call, index, shown) => {
    const isLong = index === shown.length - 1 && now - call.startedAt >= LONG_CALL_MS;
    const stop = isLong && canStop ? stopHint(keys) : "";
    const time = formatDuration(now - call.startedAt).replace(/^\d+ ms$/, "") + stop;
    const head = `${frame(now, hasMotion)} ${call.number} ${call.tool} ${quoteLine(call.argument)}`;
    const line = cutText(head, width - time.length - 2);
    const row = line + " ".repeat(Math.max(1, width - textWidth(line) - time.length - 1)) + colours.dim(time);
    return call.progress === undefined
      ? [row.trimEnd()]
      : [row.trimEnd(), colours.dim(`    ${cutText(escapeControls(call.progress), width - 4)}`)];
  });
}

const ACTIVITIES = {
  waiting: "waiting for the model",
  thinking: "thinking",
  answering: "answering",
  calling: "working",
  stopping: "stopping",
} as const;

function activityRows(
  { turn, calls, questions, hasMotion }: ChatState,
  now: number,
  colours: Colours,
  keys: KeyBindings,
): string[] {
  if (turn === undefined || questions.length > 0) return [];
  if (calls.length > 0 && turn.activity !== "stopping" && !isSilent(turn, now)) return [];
  const quiet = isSilent(turn, now) ? ` · silent for ${formatDuration(now - turn.activeAt)}` : "";
  const stop = turn.activity === "stopping" ? "" : stopHint(keys);
  const words = `${ACTIVITIES[turn.activity]} · ${Math.floor((now - turn.startedAt) / 1_000)} s${stop}${quiet}`;
  return [colours.dim(`${frame(now, hasMotion)} ${words}`)];
}

function isSilent({ activeAt }: RunningTurn, now: number): boolean {
  return now - activeAt > SILENCE_MS;
}

function stopHint(keys: KeyBindings): string {
  const key = keys.label("stop") ?? keys.label("interrupt");
  return key === undefined ? "" : ` · ${key} stops`;
}

/** Slash commands that have been running for a while. */
function commandRows(
  { commands, hasMotion }: ChatState,
  now: number,
  colours: Colours,
  keys: KeyBindings,
): string[] {
  return commands
    .filter(({ startedAt }) => now - startedAt >= SLOW_COMMAND_MS)
    .map(({ text, startedAt }) => {
      const seconds = Math.floor((now - startedAt) / 1_000);
      return colours.dim(`${frame(now, hasMotion)} ${text} · ${seconds} s${stopHint(keys)}`);
    });
}

function queueRows(
  { facts, queue, steers, isQueueHeld, turn, calls, questions }: ChatState,
  width: number,
  colours: Colours,
  keys: KeyBindings,
): string[] {
  const hidden = queue.length - MAX_QUEUE;
  const seen = calls.length > 0 || questions.length > 0 ? "after this call" : "at the next step";
  const does = turn === undefined || isQueueHeld ? "sends" : "steers";
  // While a question waits or the session is being opened, Enter on the empty line does nothing.
  const ways = [
    [questions.length > 0 || facts === undefined ? undefined : keys.label("send"), `${does} it`],
    [keys.label("up"), "takes it back"],
  ].flatMap(([key, words]) => (key === undefined ? [] : [` · ${key} ${words}`]));
  return [
    ...steers.map((text) => cutText(`  steer, seen ${seen}: ${quoteLine(text)}`, width)),
    ...(hidden > 0 ? [`  ${hidden} more queued`] : []),
    ...queue.slice(-MAX_QUEUE).map((text, index, shown) => {
      const number = queue.length - shown.length + index + 1;
      const hint = index === shown.length - 1 ? ways.join("") : "";
      return withHint(`  queued ${number}: ${quoteLine(text)}`, hint, width, colours);
    }),
  ];
}

function questionTitle({ questions: [question] }: ChatState, colours: Colours, width: number): string[] {
  if (question === undefined) return [];
  const { number, approval } = question;
  const what = approval.kind === "approval" ? `${number} ${approval.tool} ` : "";
  return [cutText(`? ${what}${quoteLine(approval.summary)}`, width).replace(/^\?/, colours.yellow("?"))];
}

function questionRows(
  { questions: [question, ...others] }: ChatState,
  now: number,
  colours: Colours,
  width: number,
  keys: KeyBindings,
  hasDraft: boolean,
): string[] {
  if (question === undefined) return [];
  const { kind, details, endsAt } = question.approval;
  const isApproval = kind === "approval";
  const choices = isApproval ? approvalChoices(details) : numberChoices(details).map(quoteLine);
  const stop = keys.label("stop");
  const silent = endsAt === undefined ? [] : [`silence for ${clockTime(endsAt - now)}`];
  const silence = [...(stop === undefined ? [] : [stop]), ...silent].join(" or ");
  const tab = hasDraft ? keys.label("complete") : undefined;
  const aside = tab === undefined ? "" : ` · ${tab}: draft aside`;
  const hint = isApproval
    ? `number, Enter${aside} · ${silence} means no`
    : `number or your own words, Enter · ${silence}: the agent decides`;
  const count = others.length === 0 ? "" : `1 of ${others.length + 1} · `;
  return [
    ...joinInRows(choices, width - 2).map((row) => `  ${row}`),
    colours.dim(cutText(`  ${count}${hint}`, width)),
  ];
}

export function approvalChoices({ session, always }: ApprovalDetails): string[] {
  return [
    "1 once",
    ...(session === undefined ? [] : [`2 this session: ${quoteLine(session.words)}`]),
    ...(always === undefined ? [] : [`3 always: ${quoteLine(always.words)}`]),
    "4 no",
    "5 no, because …",
  ];
}

const MAX_CHOICE_ROWS = 3;

/** Joins as many choices as fit into each row. A longer choice is wrapped and not cut, because it shows what it would allow. */
function joinInRows(choices: readonly string[], width: number): string[] {
  const rows: string[] = [];
  for (const choice of choices.flatMap((words) => wrapText(words, width, MAX_CHOICE_ROWS))) {
    const joined = `${rows.at(-1)} · ${choice}`;
    if (rows.length > 0 && textWidth(joined) <= width) rows[rows.length - 1] = joined;
    else rows.push(choice);
  }
  return rows;
}

function clockTime(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, "0")}`;
}

/** The configured fields, as many as fit. YOLO is a warning, so it is shown at every width. */
function statusRow(
  state: ChatState,
  width: number,
  now: number,
  colours: Colours,
  keys: KeyBindings,
): string {
  const { facts, mode, hint, statusFields } = state;
  if (hint !== undefined && now < hint.until) return colours.yellow(cutText(hint.text, width));
  const wanted = statusFields.filter((field) => width >= MIN_WIDTHS[field]);
  const fields = mode === "YOLO" && !wanted.includes("mode") ? [...wanted, "mode" as const] : wanted;
  if (facts === undefined) return width < MIN_WIDTHS.model ? mode : colours.dim("starting");
  const texts = statusTexts(state, facts, keys);
  const parts = fields.flatMap((field) => (texts[field] === "" ? [] : [{ field, text: texts[field] }]));
  const excess = (): number => textWidth(parts.map(({ text }) => text).join(" · ")) - width;
  const model = parts.find(({ field }) => field === "model");
  if (model !== undefined && excess() > 0)
    model.text = cutText(model.text, Math.max(MIN_MODEL_COLUMNS, textWidth(model.text) - excess()));
  while (excess() > 0 && parts.length > 1)
    parts.splice(
      parts.findLastIndex(({ field }) => field !== "mode"),
      1,
    );
  const colour = (field: StatusField): ((text: string) => string) =>
    field !== "mode" ? colours.dim : mode === "YOLO" ? colours.red : (text) => text;
  return parts.map(({ field, text }) => colour(field)(text)).join(colours.dim(" · "));
}

/** How wide the live area must be to show a field. */
const MIN_WIDTHS: Readonly<Record<StatusField, number>> = {
  mode: 0,
  model: 30,
  environment: 51,
  jobs: 51,
  enter: 51,
  context: 75,
  cost: 75,
};
const MIN_MODEL_COLUMNS = 12;

function statusTexts(
  state: ChatState,
  { model, environment, contextTokens }: ChatFacts,
  keys: KeyBindings,
): Record<StatusField, string> {
  const { mode, contextUsed, costUsd, turn, queue, jobs } = state;
  const enter = queue.length > 0 ? `${queue.length} queued` : enterHint(state, keys);
  return {
    model,
    context: contextTokens === undefined ? tokens(contextUsed) : contextOf(contextUsed, contextTokens),
    cost: `$${(costUsd ?? 0).toFixed(2)}`,
    environment: environment.split(",")[0] ?? "",
    mode,
    jobs: jobs === 0 ? "" : jobs === 1 ? "1 job" : `${jobs} jobs`,
    enter: turn === undefined ? "" : enter,
  };
}

const BUSY = { queue: "queues", steer: "steers", interrupt: "stops the turn and sends" } as const;

function enterHint({ busyMode }: ChatState, keys: KeyBindings): string {
  return `${keys.label("send") ?? ""} ${BUSY[busyMode]}`.trim();
}

function contextOf(used: number, all: number): string {
  const share = used === 0 ? "" : ` ${Math.round((used / all) * 100)} %`;
  return `${tokens(used)}/${tokens(all)}${share}`;
}

function tokens(count: number): string {
  return count < 1_000 ? `${count}` : `${Math.round(count / 1_000)}k`;
}

/** Folds a row that is wider than the window, such as a line of code. */
function foldRow(row: string, width: number): string[] {
  return styledWidth(row) <= width ? [row] : foldText(stripVTControlCharacters(row), width);
}

function frame(now: number, hasMotion: boolean): string {
  if (!hasMotion) return "·";
  return FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length] ?? "";
}
