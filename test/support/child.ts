import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { withoutWarning } from "./node-warning.ts";

/** A child process that plays one role of a child file and reports in lines of JSON. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** Its next report; throws with its stderr if it exits first. */
  next<Report>(): Promise<Report>;
  /** Writes a line to its stdin. */
  send(line: string): void;
  kill(): Promise<void>;
  /** Its exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
}

export interface ChildOptions {
  /** A command prefix that runs our program inside another one. */
  readonly wrap?: readonly string[];
}

/** The variable that names the folder of bundle-children.ts. */
export const CHILDREN_FOLDER = "HERMES_TEST_CHILDREN";

/** The bundle of the child file at `url`. */
export function bundleOf(url: URL): string {
  const path = relative(fileURLToPath(new URL("../..", import.meta.url)), fileURLToPath(url));
  return join(process.env[CHILDREN_FOLDER] ?? "", path.replace(/ts$/, "mjs"));
}

/** Starts `role` of the child file at `url`. */
export function startChild(url: URL, role: string, input: unknown, { wrap = [] }: ChildOptions = {}): Child {
  const ours = [process.execPath, bundleOf(url), role, JSON.stringify(input)];
  const [program = "", ...args] = [...wrap, ...ours];
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => undefined); // it may exit without reading
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const ended = exitOf(child).then((end) => {
    withoutWarning({ stderr });
    return end;
  });
  return {
    pid: child.pid ?? 0,
    ended,
    async next<Report>() {
      const line = await lines.next();
      if (line.done === true) throw new Error(`${role} ended (${await ended}): ${stderr}`);
      return JSON.parse(line.value) as Report;
    },
    send: (line) => void child.stdin.write(`${line}\n`),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function exitOf(child: ChildProcess): Promise<number | string> {
  const [code, signal] = await once(child, "close");
  return code ?? signal;
}

/** Starts the same role many times. */
export function startChildren(
  count: number,
  ...args: Parameters<typeof startChild>
): AsyncDisposable & {
  readonly all: readonly Child[];
  next<Report>(): Promise<Report[]>;
  send(line: string): void;
} {
  const all = Array.from({ length: count }, () => startChild(...args));
  return {
    all,
    next: <Report>() => Promise.all(all.map((child) => child.next<Report>())),
    send: (line) => all.forEach((child) => void child.send(line)),
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((child) => child.kill()));
    },
  };
}
