import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";
import { Button } from "../components/controls/button.tsx";
import { useApi } from "../data/app-data.tsx";
import { pageWords } from "../words/page-words.ts";
import { words } from "../words/words.ts";
import { connectTerminal, type TerminalConnection, type TerminalState } from "./terminal-connection.ts";
import styles from "./terminal-screen.module.css";
import { readTerminalTheme } from "./terminal-theme.ts";

const w = pageWords.terminals;
const SCROLLBACK_LINES = 5_000;
const FONT_PX = 13;
const MIN_CONTRAST = 4.5;
/** The size settles before it is sent, because each change redraws the program. */
const SETTLED_MS = 100;

interface TerminalScreenProps {
  readonly id: string;
  /** The accessible name of the input. */
  readonly label: string;
}

/** An open terminal. It keeps running when the page is left, and its screen is restored when it is shown again. */
export function TerminalScreen({ id, label }: TerminalScreenProps) {
  const api = useApi();
  const place = useRef<HTMLDivElement>(null);
  const connection = useRef<TerminalConnection>(undefined);
  const [state, setState] = useState<TerminalState>({ name: "connecting" });

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const terminal = new Terminal({
      fontFamily: getComputedStyle(element).fontFamily,
      ...{ fontSize: FONT_PX, lineHeight: 1.25, scrollback: SCROLLBACK_LINES, cursorBlink: false },
      ...{ minimumContrastRatio: MIN_CONTRAST, theme: readTerminalTheme(element) },
    });
    const sizer = new FitAddon();
    terminal.loadAddon(sizer);
    terminal.open(element);
    terminal.textarea?.setAttribute("aria-label", label);
    const own = connectTerminal(api, id, {
      onScreen(columns, rows) {
        terminal.reset();
        terminal.resize(columns, rows);
        // Only now, because the restored screen is drawn in the old size first.
        terminal.write("", fitNow);
      },
      onOutput: (bytes, markRead) => terminal.write(bytes, markRead),
      onState: setState,
    });
    connection.current = own;
    function fitNow(): void {
      sizer.fit();
      own.resize(terminal.cols, terminal.rows);
    }
    terminal.onData((input) => own.write(input));
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.key === "Escape" && event.shiftKey) {
        if (event.type === "keydown") document.getElementById("main")?.focus();
        return false;
      }
      return true;
    });
    let timer = 0;
    const resized = new ResizeObserver(() => {
      clearTimeout(timer);
      timer = window.setTimeout(fitNow, SETTLED_MS);
    });
    resized.observe(element);
    const onTheme = (): void => {
      terminal.options.theme = readTerminalTheme(element);
    };
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", onTheme);
    const chosen = new MutationObserver(onTheme);
    chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    terminal.focus();
    return () => {
      clearTimeout(timer);
      resized.disconnect();
      chosen.disconnect();
      dark.removeEventListener("change", onTheme);
      own.leave();
      terminal.dispose();
    };
  }, [api, id, label]);

  return (
    <div className={styles.around}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys that the terminal uses must not act on the page */}
      <div
        ref={place}
        className={`${styles.screen} ${state.name === "open" ? "" : styles.old}`}
        onKeyDown={(event) => event.nativeEvent.stopImmediatePropagation()}
      />
      <StateLine state={state} onConnect={() => connection.current?.connect()} />
    </div>
  );
}

function StateLine({ state, onConnect }: { readonly state: TerminalState; onConnect(): void }) {
  const text = {
    connecting: w.connecting,
    open: w.leave,
    lost: w.lost,
    "taken-over": w.takenOver,
    ended: state.name === "ended" && state.exitCode !== undefined ? w.exited(state.exitCode) : w.ended,
  }[state.name];
  return (
    <p className={styles.state} role="status">
      {text}
      {(state.name === "lost" || state.name === "taken-over") && (
        <Button small onClick={onConnect}>
          {state.name === "lost" ? words.shell.tryNow : w.show}
        </Button>
      )}
    </p>
  );
}
