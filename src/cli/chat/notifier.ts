import type { ChatState } from "./state/chat-state.ts";

export type NotifyMode = "off" | "bell" | "desktop";

/** Rings when a long turn has ended or a question waits, if the user has not typed for a while. */
export interface Notifier extends Disposable {
  setMode(mode: NotifyMode): void;
  /** A key was pressed, so the user is present. */
  touch(): void;
  watch(before: ChatState, after: ChatState): void;
}

export interface NotifierParts {
  /** Writes to the terminal directly, without changing what the screen shows. */
  write(text: string): void;
  readonly variables: Readonly<Record<string, string | undefined>>;
  now(): number;
}

const AWAY_MS = 20_000;
const BELL = "\u0007";
/** Terminals that show OSC 9 as a notification. Others may print it. */
const NOTIFYING_TERMINALS: ReadonlySet<string> = new Set(["iTerm.app", "WezTerm", "ghostty"]);

export function createNotifier({ write, variables, now }: NotifierParts): Notifier {
  let mode: NotifyMode = "off";
  let lastKeyAt = now();
  let timer: NodeJS.Timeout | undefined;
  const canShow = variables["TMUX"] === undefined && NOTIFYING_TERMINALS.has(variables["TERM_PROGRAM"] ?? "");

  function ring(text: string): void {
    if (mode === "off") return;
    write(mode === "desktop" && canShow ? `\u001b]9;${text}${BELL}` : BELL);
  }
  function ringForQuestion(): void {
    const leftMs = lastKeyAt + AWAY_MS - now();
    timer = leftMs > 0 ? setTimeout(ringForQuestion, leftMs) : undefined;
    if (timer === undefined) ring("Hermes asks a question");
  }
  return {
    setMode(next) {
      mode = next;
    },
    touch() {
      lastKeyAt = now();
    },
    watch(before, after) {
      const wasAsking = before.questions[0]?.approval.id;
      const asks = after.questions[0]?.approval.id;
      if (asks !== wasAsking) {
        clearTimeout(timer);
        timer = asks === undefined ? undefined : setTimeout(ringForQuestion, AWAY_MS);
      }
      if (before.turn === undefined || after.turn !== undefined) return;
      if (now() - before.turn.startedAt >= AWAY_MS && now() - lastKeyAt >= AWAY_MS)
        ring("Hermes has finished");
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
