import { AppError } from "../../lib/errors.ts";
import { quoteWord } from "../channel/quote.ts";
import type { CommandResult, Environment, ShellSession, TargetPath } from "../environment.ts";
import { createFileProblem, type FileProblem, isFileProblem, problemKindOf } from "./file-problem.ts";

const TIMEOUT_MS = 120_000;

export interface FileScript {
  readonly script: string;
  readonly path: TargetPath;
  readonly args?: readonly string[];
  readonly stdin?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly timeoutMs?: number;
  /** Takes stdout instead of collecting it; while it returns a promise, the script has to wait. */
  readonly onStdout?: (bytes: Uint8Array) => void | Promise<void>;
}

/** What a script told; `facts` by name, `stdout` as it came. */
export interface FileScriptResult {
  readonly kind: "done";
  readonly path: TargetPath;
  readonly facts: ReadonlyMap<string, string>;
  readonly stdout: Buffer;
}

export type RunFileScript = (
  script: FileScript,
  signal: AbortSignal,
) => Promise<FileScriptResult | FileProblem>;

/** Runs a file script in the session's place without touching the session's folder, variables or functions. */
export async function runFileScript(
  environment: Environment,
  session: ShellSession,
  { script, path, args = [], stdin, timeoutMs = TIMEOUT_MS, onStdout }: FileScript,
  signal: AbortSignal,
): Promise<FileScriptResult | FileProblem> {
  if (path === "" || path.includes("\0"))
    return createFileProblem("missing", path, "no file has such a name");
  const output: Record<"stdout" | "stderr", Buffer[]> = { stdout: [], stderr: [] };
  // A shell of its own: what a person defined (a function `cat`, an alias `rm`) must not meet our programs, and as the
  // session's shell is replaced it leaves no state behind.
  const words = ["sh", "-c", script, "hermes-files", path, ...args].map(quoteWord).join(" ");
  const result = await attempt(path, () =>
    environment.run(
      {
        command: `command exec ${words}`,
        session,
        // The session's own folder may be gone, which is no matter to an absolute path.
        ...(path.startsWith("/") ? { workdir: "/" } : {}),
        timeoutMs,
        stdin,
        onOutput(stream, bytes) {
          if (stream === "stdout" && onStdout) return onStdout(bytes);
          output[stream].push(Buffer.from(bytes));
        },
      },
      signal,
    ),
  );
  if (isProblem(result)) return result;
  if (result.ended === "stopped") signal.throwIfAborted();
  if (result.ended === "timed-out") return createFileProblem("timed-out", path);
  if (result.ended !== "exited") return createFileProblem("unavailable", path, result.notices.join(" "));
  if (result.badWorkdir) return createFileProblem("missing", path, "the session's folder is gone");
  const { facts, words: said } = parseFacts(Buffer.concat(output.stderr).toString("utf8"));
  const real = facts.get("path") ?? path;
  const problem = facts.get("problem");
  if (problem === "failed") {
    const error = facts.get("error") ?? "";
    return createFileProblem(problemKindOf(error, Number(facts.get("code"))), real, error);
  }
  if (problem !== undefined && isFileProblem({ kind: problem })) {
    return createFileProblem(problem as FileProblem["kind"], real, facts.get("error"));
  }
  if (result.exitCode !== 0 || !facts.has("path")) {
    return createFileProblem("failed", real, said || `exit code ${result.exitCode}`);
  }
  return { kind: "done", path: real, facts, stdout: Buffer.concat(output.stdout) };
}

async function attempt(
  path: TargetPath,
  run: () => Promise<CommandResult>,
): Promise<CommandResult | FileProblem> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...createFileProblem("unavailable", path, error.message), hint: error.hint };
  }
}

function isProblem(value: CommandResult | FileProblem): value is FileProblem {
  return "kind" in value;
}

/** Facts stand between NULs, so every second piece is one; the others are words of tools. */
function parseFacts(text: string): { facts: Map<string, string>; words: string } {
  const facts = new Map<string, string>();
  const words: string[] = [];
  for (const [index, piece] of text.split("\0").entries()) {
    const equals = piece.indexOf("=");
    if (index % 2 === 1) facts.set(piece.slice(0, equals), piece.slice(equals + 1));
    else words.push(piece);
  }
  return { facts, words: words.join("").trim() };
}
