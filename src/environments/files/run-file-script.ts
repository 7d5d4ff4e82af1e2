import { AppError } from "../../lib/errors.ts";
import { quoteWord } from "../channel/quote.ts";
import type { CommandResult, Environment, ShellSession, TargetPath } from "../environment.ts";
import { createFileProblem, type FileProblem, isFileProblem, problemKindOf } from "./file-problem.ts";

const TIMEOUT_MS = 120_000;
const EXPLAINED: ReadonlySet<FileProblem["kind"]> = new Set(["read-only", "denied", "failed", "missing"]);

export interface FileScript {
  readonly script: string;
  readonly path: TargetPath;
  readonly args?: readonly string[];
  readonly stdin?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly timeoutMs?: number;
  /** Receives stdout, which is then not collected. A returned promise holds the script back until it settles. */
  readonly onStdout?: (bytes: Uint8Array) => void | Promise<void>;
}

/** The facts that a script reported, and its raw stdout. */
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

/** Runs a file script in the session's folder without changing the session's folder, variables or functions. */
export async function runFileScript(
  environment: Environment,
  session: ShellSession,
  { script, path, args = [], stdin, timeoutMs = TIMEOUT_MS, onStdout }: FileScript,
  signal: AbortSignal,
): Promise<FileScriptResult | FileProblem> {
  if (path === "" || path.includes("\0"))
    return createFileProblem("missing", path, "no file can have this name");
  const output: Record<"stdout" | "stderr", Buffer[]> = { stdout: [], stderr: [] };
  // A separate shell: the session's functions and aliases (`cat`, `rm`) must not shadow our programs. `exec` replaces
  // the session's shell, so the script leaves no state in it.
  const commandLine = ["sh", "-c", script, "hermes-files", path, ...args].map(quoteWord).join(" ");
  const result = await attempt(path, () =>
    environment.run(
      {
        command: `command exec ${commandLine}`,
        session,
        // The session's folder may have been deleted; an absolute path does not need it.
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
  if (result.badWorkdir) return createFileProblem("missing", path, "the session's folder was removed");
  const { facts, messages } = parseFacts(Buffer.concat(output.stderr).toString("utf8"));
  const real = facts.get("path") ?? path;
  const problem = facts.get("problem");
  // A sandbox explains what it refuses, which says more than the hint for any read-only file system.
  const explain = (found: FileProblem): FileProblem => ({
    ...found,
    hint: (EXPLAINED.has(found.kind) && environment.explainRefusal?.(found.message)) || found.hint,
  });
  if (problem === "failed") {
    const error = facts.get("error") ?? "";
    return explain(createFileProblem(problemKindOf(error, Number(facts.get("code"))), real, error));
  }
  if (problem !== undefined && isFileProblem({ kind: problem })) {
    return explain(createFileProblem(problem as FileProblem["kind"], real, facts.get("error")));
  }
  if (result.exitCode !== 0 || !facts.has("path")) {
    return explain(createFileProblem("failed", real, messages || `exit code ${result.exitCode}`));
  }
  return { kind: "done", path: real, facts, stdout: Buffer.concat(output.stdout) };
}

async function attempt(path: TargetPath, run: () => Promise<CommandResult>) {
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

/** Facts are enclosed in NULs, so every second piece is a fact; the other pieces are messages of programs. */
function parseFacts(text: string): { facts: Map<string, string>; messages: string } {
  const facts = new Map<string, string>();
  const messages: string[] = [];
  for (const [index, piece] of text.split("\0").entries()) {
    const equals = piece.indexOf("=");
    if (index % 2 === 1) facts.set(piece.slice(0, equals), piece.slice(equals + 1));
    else messages.push(piece);
  }
  return { facts, messages: messages.join("").trim() };
}
