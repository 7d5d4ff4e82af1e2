import type { Colours, TerminalStreams } from "../../terminal/terminal.ts";
import { createKeyBindings, type KeySettings } from "../input/key-bindings.ts";
import { createKeyboardProtocol } from "../input/keyboard-protocol.ts";
import { createTerminalInput } from "../input/terminal-input.ts";
import { createScreen, type ScreenSize } from "../screen/screen.ts";
import { drawPanel } from "../window/draw-lists.ts";
import { enterChatModes } from "../window/terminal-modes.ts";
import type { Panel } from "./panel.ts";

/** Shows a panel outside a chat, until the user chooses a row or leaves. */
export async function runPanel(
  panel: Panel,
  streams: TerminalStreams,
  { colours, keys: settings }: { readonly colours: Colours; readonly keys: KeySettings },
  signal: AbortSignal,
): Promise<void> {
  const { stdin, stdout, env } = streams;
  const keys = createKeyBindings(settings);
  const keyboard = createKeyboardProtocol(env);
  const size = (): ScreenSize => ({
    columns: Math.max(10, stdout.columns || 80),
    rows: Math.max(2, stdout.rows || 24),
  });
  const screen = createScreen({ write: (text) => void stdout.write(text), size, rewraps: true });
  const live = () => drawPanel(panel.view(), keys, size().rows - 1, size().columns - 1, colours);
  const paint = (): void => screen.show([], live());
  let leave: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    leave = resolve;
  });
  using input = createTerminalInput({
    onKey(sequence) {
      const reply = keyboard.answer(sequence);
      if (reply !== undefined) stdout.write(reply);
      else if (panel.press(sequence, keys)) paint();
      else leave();
    },
    onPaste(text) {
      panel.paste(text);
      paint();
    },
    marksPastes: true,
    now: () => Date.now(),
  });
  const onData = (data: Buffer | string): void => input.push(data);
  const onResize = (): void => screen.resize([], live());
  using _ = enterChatModes(streams, keyboard);
  input.entered();
  panel.connect(paint);
  stdin.on("data", onData).once("end", leave);
  stdout.on("resize", onResize);
  signal.addEventListener("abort", leave, { once: true });
  try {
    paint();
    await done;
  } finally {
    screen.clear();
    stdin.off("data", onData).off("end", leave);
    stdout.off("resize", onResize);
    signal.removeEventListener("abort", leave);
  }
  signal.throwIfAborted();
}
