import { expect, test, vi } from "vitest";
import { createKeyboardProtocol } from "./keyboard-protocol.ts";
import { createTerminalInput } from "./terminal-input.ts";

function openInput(marksPastes = true) {
  let time = 10_000;
  const keys: string[] = [];
  const pastes: string[] = [];
  const input = createTerminalInput({
    onKey: (sequence) => void keys.push(sequence),
    onPaste: (text) => void pastes.push(text),
    marksPastes,
    now: () => time,
  });
  return {
    input,
    keys,
    pastes,
    push(text: string | Buffer, afterMs = 0) {
      time += afterMs;
      input.push(text);
    },
    [Symbol.dispose]: () => input[Symbol.dispose](),
  };
}

test("C18: no key in a paste acts, control bytes are removed and the rest is exact", () => {
  using terminal = openInput();
  terminal.push("\u001b[200~one\u0003\u001b[2J\u001a\u0000\ttwo\r\nthree\u001b[201~x");
  expect(terminal.pastes).toEqual(["one[2J\ttwo\nthree"]);
  expect(terminal.keys).toEqual(["x"]);
});

test("C18: a paste without its end mark is closed after a second of silence", () => {
  vi.useFakeTimers();
  try {
    using terminal = openInput();
    terminal.push("\u001b[200~never ");
    vi.advanceTimersByTime(999);
    terminal.push("closed");
    vi.advanceTimersByTime(999);
    expect(terminal.pastes).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(terminal.pastes).toEqual(["never closed"]);
    terminal.push("x");
    expect(terminal.keys).toEqual(["x"]);
  } finally {
    vi.useRealTimers();
  }
});

test("C20: a line break with more text after it that arrives in one read is a paste, also where pastes are marked", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    using terminal = openInput();
    terminal.push("one\rtwo\r");
    terminal.push("three\r"); // the terminal hands out a long paste in pieces
    expect(terminal.keys).toEqual([]);
    vi.advanceTimersByTime(30);
    expect(terminal.pastes.splice(0)).toEqual(["one\ntwo\nthree\n"]);
    terminal.push("four\r");
    terminal.push("\u0015a\rb");
    terminal.push("\u001b[20");
    terminal.push("0~five\rsix\u001b[201~");
    expect(terminal.keys.join("")).toBe("four\r\u0015a\rb");
    expect(terminal.pastes).toEqual(["five\nsix"]);
  } finally {
    vi.useRealTimers();
  }
});

test("C20: where pastes are not marked, Enter right after two characters is a new line", () => {
  using unmarked = openInput(false);
  for (const key of "ab\rc") unmarked.push(key, 1);
  unmarked.push("\r", 9);
  expect(unmarked.keys).toEqual(["a", "b", "\n", "c", "\r"]);
  using marked = openInput();
  marked.push("ab\r");
  expect(marked.keys).toEqual(["a", "b", "\r"]);
});

test("C20: where pastes are not marked, a single line that arrives at once with its Enter is sent; a paste of several lines is not", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    using unmarked = openInput(false);
    unmarked.push("hello\r"); // as from Emacs, expect or a dictation program
    vi.advanceTimersByTime(30);
    expect(unmarked.keys.splice(0).join("")).toBe("hello\r");
    for (const key of "ab\rcd\r") unmarked.push(key, 1);
    vi.advanceTimersByTime(30);
    expect(unmarked.keys.join("")).toBe("ab\ncd\n");
  } finally {
    vi.useRealTimers();
  }
});

test("C17: Enter that was typed while another program had the terminal sends the message; a later line feed is a new line", async () => {
  using terminal = openInput();
  for (const text of ["early\none", "again\ntwo"]) {
    terminal.input.entered();
    await new Promise(setImmediate); // the terminal is read after the current round of the event loop
    terminal.push(text, 500); // the machine was busy
    await new Promise(setImmediate);
    terminal.push("a\n");
  }
  expect(terminal.keys.join("")).toBe("early\ronea\nagain\rtwoa\n");
});

test("characters that arrive in pieces are typed whole", () => {
  using terminal = openInput();
  const bytes = Buffer.from("é😀");
  for (const byte of bytes) terminal.push(Buffer.from([byte]));
  expect(terminal.keys.join("")).toBe("é😀");
  expect(terminal.keys).toHaveLength(2);
});

test("C25: the kitty protocol is on only after the terminal has answered, and off when the chat leaves", () => {
  const keyboard = createKeyboardProtocol({ TERM: "xterm-kitty" });
  expect(keyboard.enter()).toBe("\u001b[?u");
  expect(keyboard.leave()).toBe("");
  keyboard.enter();
  expect(keyboard.answer("\u001b[?0u")).toBe("\u001b[>1u");
  expect(keyboard.answer("\u001b[A")).toBeUndefined();
  expect(keyboard.leave()).toBe("\u001b[<u");
});

test.each([
  [{ TERM: "xterm-kitty", SSH_TTY: "/dev/pts/1" }, ""],
  [{ TERM: "linux" }, ""],
  [{ TERM: "tmux-256color", TMUX: "x" }, "\u001b[>4;1m"],
])("C25: with %o the kitty protocol stays off", (env, asked) => {
  const keyboard = createKeyboardProtocol(env);
  expect(keyboard.enter()).toBe(asked);
  expect(keyboard.answer("\u001b[?1u")).toBe("");
});
