import type { KeyboardProtocol } from "../input/keyboard-protocol.ts";

export const PASTE_ON = "\u001b[?2004h";
export const PASTE_OFF = "\u001b[?2004l";
const SHOW_CURSOR = "\u001b[?25h";

export interface ModeStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
}

/** Turns on raw mode, bracketed paste and the keyboard protocol; disposing of the result restores the terminal. */
export function enterChatModes({ stdin, stdout }: ModeStreams, keyboard: KeyboardProtocol): Disposable {
  stdin.setRawMode(true);
  stdin.resume();
  stdout.write(PASTE_ON + keyboard.enter());
  return {
    [Symbol.dispose]() {
      stdin.pause();
      // A closed terminal cannot be restored and need not be.
      if (!stdin.destroyed) stdin.setRawMode(false);
      stdout.write(keyboard.leave() + PASTE_OFF + SHOW_CURSOR);
    },
  };
}
