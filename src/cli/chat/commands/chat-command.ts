import type { PolicyState } from "../../../policy/policy.ts";
import type { UsageTotals } from "../../../sessions/session.ts";
import type { TodoState } from "../../../tools/todo.ts";
import type { OpenRequest } from "../chat-session.ts";
import type { CompletionItem } from "../input/completion-list.ts";
import type { KeyBindings } from "../input/key-bindings.ts";
import type { ChatState } from "../state/chat-state.ts";
import type { EndedCall } from "../state/entry.ts";
import type { ChatInput } from "../state/update.ts";
import type { DisplayState } from "../window/printer.ts";

/** The functions of the chat that slash commands can call. */
export interface ChatControl {
  state(): ChatState;
  keys(): KeyBindings;
  dispatch(input: ChatInput): void;
  /** Prints lines above the live area. */
  print(lines: readonly string[]): void;
  /** The ended calls of this chat, by their number. */
  call(number: number): EndedCall | undefined;
  /** All ended calls of this chat, oldest first. */
  calls(): readonly EndedCall[];
  /** The texts of the session's answers that the model still sees in full, newest last. */
  answers(): readonly string[];
  /** Whether the session has a message. */
  isStored(): boolean;
  /** The whole output of a call, even if it was shortened for the model. */
  wholeOutput(body: string): Promise<string>;
  open(request: OpenRequest): Promise<void>;
  /** Opens a new session with the model that the chat was started with. */
  openNew(): Promise<void>;
  /** The reasoning effort of this session. */
  reasoning(): string;
  /** Opens the same session with another model or reasoning effort. */
  reopen(change: Omit<OpenRequest, "choice">): Promise<void>;
  pickSession(query: string): Promise<void>;
  pickModel(query: string): Promise<void>;
  palette(): Promise<void>;
  /** Tokens and cost of the session. */
  usage(): Promise<UsageTotals>;
  /** The agent's list of steps. */
  todos(): Promise<TodoState["items"]>;
  /** Deletes a session that no process uses. */
  deleteSession(id: string): Promise<number>;
  /** How answers and calls are printed from now on. */
  readonly display: DisplayState;
  /** Clears the screen, and with `scrollback` also what has scrolled out of it. */
  clearScreen(scrollback: boolean): void;
  setDraft(text: string): void;
  send(text: string): void;
  /** Undoes the last turn of the session and returns its message as it was typed. */
  undoLastTurn(): Promise<string>;
  setPolicy(change: Partial<PolicyState>): void;
  /** Selects the next approval mode. */
  cycleMode(): void;
  isYolo(): boolean;
  isPlanning(): boolean;
  stop(): void;
  leave(): void;
  /** Runs a `hermes` command, such as `why CALL`, prints its output as it arrives, and returns it. */
  runCli(words: readonly string[]): Promise<readonly string[]>;
  /** Runs a `hermes` command and opens its output in the pager. */
  pageCli(words: readonly string[]): Promise<void>;
  /** Runs a `hermes` command that asks the user something. */
  runInTerminal(words: readonly string[]): Promise<void>;
  /** Copies a text to the clipboard and returns a sentence that says how. */
  copy(text: string): Promise<string>;
  /** Attaches an image of this machine to the draft. */
  attach(path: string): Promise<void>;
  /** Attaches the image of the clipboard, or inserts its text. */
  pasteClipboard(): Promise<void>;
  /** Opens a text in the pager. */
  page(text: string): Promise<void>;
  /** Opens the draft in the user's editor. */
  editDraft(): Promise<void>;
}

/** One row of the registry, which help, completion and `runChatCommand` read. */
export interface ChatCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly argument?: string;
  readonly summary: string;
  /** `idle`: only between two turns. */
  readonly availability: "idle" | "always";
  /** The values that the command takes. */
  complete?(): readonly CompletionItem[];
  run(chat: ChatControl, argument: string): unknown;
}
