import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { TerminalStreams } from "../../src/cli/terminal.ts";
import { kindOf, loadProgram } from "../../src/load-program.ts";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));

/** The entry of the built program, for those who start it as a process. */
export const ENTRY = join(DIST, "main.cjs");

type Program = ReturnType<typeof loadProgram>["program"];
let loaded: Program | undefined;

/** What the entry would load, and the same code. */
function builtProgram(args: readonly string[]): Program {
  if (loaded === undefined) {
    const [file = ""] = /chunks\/program-\w+\.cjs/.exec(readFileSync(ENTRY, "utf8")) ?? [];
    loaded = loadProgram(join(DIST, file), kindOf(args)).program;
  }
  return loaded;
}

export interface ProgramRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
  json<Value>(): Value;
}

/**
 * Runs the built program to its end in the process of the test, which takes a tenth of the time that a process of its
 * own takes. For what a command answers and does. What is about the process itself (signals, kills, pipes, a terminal,
 * the folder it is called in, many at once) needs one of its own. Its standard input is closed.
 */
export async function runInProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ProgramRun> {
  const { streams, printed } = catchingStreams(env);
  const exitCode = await builtProgram(args).runCli(args, streams);
  const bytes = Buffer.concat(printed.stdout);
  const stdout = bytes.toString("utf8");
  const stderr = Buffer.concat(printed.stderr).toString("utf8");
  return { exitCode, stdout, stderr, bytes, json: () => JSON.parse(stdout) };
}

/** The part of a process that a command is given. */
export function catchingStreams(env: Readonly<Record<string, string>>): {
  readonly streams: TerminalStreams & NodeJS.Process;
  readonly printed: { readonly stdout: Buffer[]; readonly stderr: Buffer[] };
} {
  const printed = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const into = (chunks: Buffer[]) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        chunks.push(chunk);
        done();
      },
    });
  const ignore = (): void => undefined;
  const streams = {
    env,
    stdin: Readable.from([]),
    stdout: into(printed.stdout),
    stderr: into(printed.stderr),
    on: ignore,
    off: ignore,
  };
  return { streams: streams as unknown as TerminalStreams & NodeJS.Process, printed };
}
