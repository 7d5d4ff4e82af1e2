import { realpathSync } from "node:fs";
import type { IPty } from "@lydell/node-pty";
import type { NewTerminal } from "../../../../api/contract/machines/terminals.ts";
import type { StartTerminal } from "../../../../api/terminals/terminal-process.ts";
import { AppError, messageOf } from "../../../../lib/errors.ts";
import { waitAtMost } from "../../../../lib/time/wait-at-most.ts";
import type { App } from "../../../app.ts";
import type { LoadProfile } from "../load-profile.ts";

/** How long a program may take to end after its terminal was closed. */
const ENDS_WITHIN_MS = 8_000;

/** Starts the commands of this program that need a terminal, each in one of its own. */
export function createTerminalStarter(app: App, load: LoadProfile): StartTerminal {
  return async (wanted, { onOutput, onExit }) => {
    await load(wanted.profile); // throws if there is no such profile
    const { spawn } = await importPty();
    const entry = realpathSync(process.argv[1] ?? "");
    const child = spawn(process.execPath, [entry, "-p", wanted.profile, ...argumentsOf(wanted)], {
      ...{ name: "xterm-256color", cols: wanted.columns, rows: wanted.rows, cwd: app.userHome },
      encoding: null, // bytes: a character may be cut between two reads
      env: variablesOf(app),
    });
    let isOver = false;
    const exited = new Promise<void>((resolve) => {
      child.onExit(({ exitCode, signal }) => {
        isOver = true;
        resolve();
        onExit(signal ? 128 + signal : exitCode);
      });
    });
    child.onData((bytes: unknown) => onOutput(bytes as Buffer)); // because of `encoding`
    /** The terminal may be gone although its program has not been reported as ended. */
    const unlessOver = (act: (running: IPty) => void): void => {
      if (isOver) return;
      try {
        act(child);
      } catch (error) {
        if (!/EBADF|EIO|ESRCH|ENOTTY/.test(messageOf(error))) throw error;
      }
    };
    return {
      // Its types know only text, but the bytes go to the terminal as they are.
      write: (input) => unlessOver((running) => running.write(input as unknown as string)),
      resize: (columns, rows) => unlessOver((running) => running.resize(columns, rows)),
      pause: () => unlessOver((running) => running.pause()),
      resume: () => unlessOver((running) => running.resume()),
      async end() {
        unlessOver((running) => running.resume()); // its last output must not keep it from ending
        unlessOver((running) => running.kill("SIGHUP"));
        await waitAtMost(ENDS_WITHIN_MS, exited);
        unlessOver((running) => running.kill("SIGKILL"));
        await exited;
      },
    };
  };
}

async function importPty(): Promise<typeof import("@lydell/node-pty")> {
  try {
    return await import("@lydell/node-pty");
  } catch (error) {
    throw new AppError("terminal-unavailable", "This machine cannot open terminals for the browser.", {
      cause: error,
    });
  }
}

function argumentsOf(wanted: NewTerminal): readonly string[] {
  switch (wanted.kind) {
    case "sandbox":
      return ["sandbox", "shell", `--task=${wanted.task}`];
    case "job":
      return ["sandbox", "attach", `--task=${wanted.task}`, "--", wanted.job];
    case "chat":
      return wanted.session === undefined ? ["chat"] : ["chat", `--resume=${wanted.session}`];
  }
}

/** The environment of this process, without the secrets of the dashboard itself. */
function variablesOf({ variables, profile }: App): Record<string, string> {
  const own = Object.entries(variables).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith("HERMES_DASHBOARD_"),
  );
  return {
    ...Object.fromEntries(own),
    ...{ HERMES_HOME: profile.root, TERM: "xterm-256color", COLORTERM: "truecolor" },
  };
}
