import { spawnSync } from "node:child_process";

/** Saves the modes of the terminal at standard input; disposing restores them. */
export function saveTerminalModes(): Disposable {
  const saved = stty("-g").trim();
  const restore = (): void => void (saved !== "" && stty(saved));
  process.once("exit", restore); // process.exit() skips the end of the scope
  return {
    [Symbol.dispose]() {
      process.off("exit", restore);
      restore();
    },
  };
}

/**
 * Switches the terminal to raw mode in both directions until disposal. Node's own raw mode still translates line ends in the
 * output, which garbles full-screen programs.
 */
export function enterRawMode(): Disposable {
  const modes = saveTerminalModes();
  stty("raw", "-echo");
  return modes;
}

function stty(...args: readonly string[]): string {
  const { stdout } = spawnSync("stty", args, { stdio: ["inherit", "pipe", "ignore"], encoding: "utf8" });
  return stdout ?? "";
}
