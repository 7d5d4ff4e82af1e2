import type { Terminal } from "../../../terminal/terminal.ts";

export interface ScreenRow {
  readonly number: number;
  readonly title: string;
  readonly assignee: string;
  readonly state: "done" | "running" | "ready" | "waiting";
  readonly detail: string;
}

/** Prints event lines above a live view of the whole board. */
export interface BoardScreen {
  say(line: string): void;
  /** Updates the view of the board. If it is not live, only the last state is printed, at the end. */
  update(rows: readonly ScreenRow[]): void;
  /** Stops updating; later output is printed below the board. */
  end(): void;
}

/** `isLive`: whether printed lines can be overwritten. */
export function createBoardScreen(terminal: Terminal, isLive: boolean): BoardScreen {
  let drawn: readonly string[] = [];
  let wanted: readonly string[] = [];
  const draw = (above: string): void => {
    const back = drawn.length === 0 ? "" : `\u001b[${drawn.length}A\u001b[J`; // moves to the first line of the board and clears it
    drawn = isLive ? wanted : [];
    // One write, to avoid flicker.
    terminal.draw(back + above + drawn.map((line) => `${line}\n`).join(""));
  };
  return {
    say: (line) => draw(`${line}\n`),
    update(rows) {
      wanted = renderRows(rows, terminal.colours);
      if (isLive && wanted.join("\n") !== drawn.join("\n")) draw("");
    },
    end() {
      if (!isLive) terminal.print(wanted.join("\n"));
      drawn = [];
      wanted = [];
    },
  };
}

function renderRows(rows: readonly ScreenRow[], colours: Terminal["colours"]): readonly string[] {
  const style = { done: colours.green, running: colours.cyan, ready: colours.yellow, waiting: colours.dim };
  const width = (of: (row: ScreenRow) => string): number =>
    Math.max(...rows.map((row) => of(row).length)) + 2;
  const widths = { title: width(({ title }) => title), who: width(({ assignee: who }) => who) };
  const count = (wanted: ScreenRow["state"]): number => rows.filter(({ state }) => state === wanted).length;
  const heading = `  ── the board: ${count("done")} of ${rows.length} done, ${count("running")} running `;
  return [
    "",
    colours.dim(heading.padEnd(78, "─")),
    ...rows.map(({ number, title, assignee: who, state, detail }) => {
      const words = `${title.padEnd(widths.title)}${who.padEnd(widths.who)}`;
      return `  ${number}  ${words}${style[state](`${state.padEnd(9)}${detail}`)}`.trimEnd();
    }),
  ];
}
