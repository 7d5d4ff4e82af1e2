import { spawnSync } from "node:child_process";

/** At the end of the scope the terminal at our standard input is set as it was at its beginning. */
export function holdTerminalModes(): Disposable {
  const before = stty("-g").trim();
  const restore = (): void => void (before !== "" && stty(before));
  process.once("exit", restore); // somebody may not wait for the end of the scope
  return {
    [Symbol.dispose]() {
      process.off("exit", restore);
      restore();
    },
  };
}

/**
 * Until the end of the scope every key comes as it is typed, and every byte is shown as it is. Node's own raw mode still
 * adds to each end of line, which tears the screens of programs that draw.
 */
export function enterRawMode(): Disposable {
  const modes = holdTerminalModes();
  stty("raw", "-echo");
  return modes;
}

function stty(...words: readonly string[]): string {
  const { stdout } = spawnSync("stty", words, { stdio: ["inherit", "pipe", "ignore"], encoding: "utf8" });
  return stdout ?? "";
}
