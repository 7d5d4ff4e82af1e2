import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { TerminalStreams } from "../../src/cli/terminal/terminal.ts";
import { guessCommandKind, loadProgram } from "../../src/load-program.ts";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));

/** The entry of the built program, for tests that start it as a process. */
export const ENTRY = join(DIST, "main.cjs");

type Program = ReturnType<typeof loadProgram>["program"];
let loaded: Program | undefined;

/** The same code that the entry would load. */
function builtProgram(args: readonly string[]): Program {
  if (loaded === undefined) {
    const [file = ""] = /chunks\/program-\w+\.cjs/.exec(readFileSync(ENTRY, "utf8")) ?? [];
    loaded = loadProgram(join(DIST, file), guessCommandKind(args)).program;
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
 * Runs the built program to its end in the process of the test, which takes a tenth of the time of a separate process. For
 * tests of a command's output and effects. Tests of the process itself (signals, kills, pipes, a terminal, the working
 * folder, concurrency) need a separate process. Standard input is closed.
 */
export async function runInProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ProgramRun> {
  const { streams, printed } = captureStreams(env);
  const exitCode = await builtProgram(args).runCli(args, streams);
  const bytes = Buffer.concat(printed.stdout);
  const stdout = bytes.toString("utf8");
  const stderr = Buffer.concat(printed.stderr).toString("utf8");
  return { exitCode, stdout, stderr, bytes, json: () => JSON.parse(stdout) };
}

/** The members of `process` that a command uses, with captured output. */
export function captureStreams(env: Readonly<Record<string, string>>): {
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
